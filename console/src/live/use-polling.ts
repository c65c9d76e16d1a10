/** A poller for the life of a component. Called by pages; reports to the connection shown on top. */

import { useCallback, useEffect, useRef, useState } from "react";
import { connectionForget, connectionReport } from "./connection.ts";
import { NOTHING_READ, type Poller, type Reading, startPoller } from "./poller.ts";

export interface Polling<T> extends Reading<T> {
  readonly readNow: () => void;
}

/** Reads under the name `source` every `intervalMs`. `read` must be the same function at every call. */
export function usePolling<T>(
  source: string,
  read: (signal: AbortSignal) => Promise<T>,
  intervalMs: number,
): Polling<T> {
  const [reading, setReading] = useState<Reading<T>>(NOTHING_READ);
  const poller = useRef<Poller | null>(null);

  useEffect(() => {
    const started = startPoller({
      read,
      intervalMs,
      onReading(next: Reading<T>) {
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
