/** A poller for the life of a component; what was read last is there when it comes back. Called by pages that
 * say how old their reading is; reports to the connection shown on top. */

import { useCallback, useEffect, useRef, useState } from "react";
import { beginAhead, takeAhead } from "./ahead.ts";
import { connectionForget, connectionReport } from "./connection.ts";
import { keep, keepFirst, recall } from "./kept.ts";
import { type Poller, type Reading, startPoller } from "./poller.ts";

export interface Polling<T> extends Reading<T> {
  readonly readNow: () => void;
}

/** Reads under the name `source` every `intervalMs`. `read` must be the same function at every call. */
export function usePolling<T>(
  source: string,
  read: (signal: AbortSignal) => Promise<T>,
  intervalMs: number,
): Polling<T> {
  const [reading, setReading] = useState(() => firstReading(source, read));
  const poller = useRef<Poller | null>(null);

  useEffect(() => {
    const started = startPoller({
      read: (signal) => takeAhead<T>(source) ?? read(signal),
      intervalMs,
      last: recall<T>(source),
      onReading(next: Reading<T>) {
        keep(source, next);
        setReading(next);
        if (next.connection !== null) connectionReport(source, next.connection);
      },
    });
    poller.current = started;
    return () => {
      started.stop();
      connectionForget(source);
    };
  }, [source, read, intervalMs]);

  const readNow = useCallback(() => poller.current?.readNow(), []);
  return { ...reading, readNow };
}

/** What is known when a page is drawn; where that is nothing, reading begins. */
function firstReading<T>(source: string, read: (signal: AbortSignal) => Promise<T>): Reading<T> {
  const known = recall<T>(source);
  if (known.value === null) {
    beginAhead(source, { read, onAnswer: (value) => keepFirst(source, value) });
  }
  return known;
}
