/** Something read from the platform and kept current: read at once, again when an event says that it
 * may have changed, and now and then in any case. What was read before is shown at once when a page
 * is opened again. Called by pages and widgets; reports to the connection shown on top. */

import { useEffect, useEffectEvent, useState } from "react";
import type { CloudEvent } from "../api/contract.ts";
import type { Problem } from "../api/problem.ts";
import { connectionForget, connectionReport } from "./connection.ts";
import { onPlatformEvent, onRefresh } from "./events.ts";
import { NOTHING_READ, type Reading, startPoller } from "./poller.ts";

export interface Live<T> {
  readonly value: T | null;
  /** Why the latest read failed; what was read before stays in `value`. */
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly readNow: () => void;
}

export interface LiveOptions {
  /** Whether an event says that this may have changed. Without it none does. */
  readonly on?: (event: CloudEvent) => boolean;
  readonly everyMs?: number;
}

const EVERY_MS = 30_000;
/** Hints that come together lead to one read. */
const GATHER_MS = 120;
const MOST_KEPT = 200;

const kept = new Map<string, Reading<unknown>>();

/** Reads what `key` names. A key of null reads nothing: what it needs is not known yet. */
export function useLive<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  { on, everyMs = EVERY_MS }: LiveOptions = {},
): Live<T> {
  const [current, setCurrent] = useState<{ key: string | null; reading: Reading<T> }>(() => ({
    key,
    reading: recall<T>(key),
  }));
  const [handle] = useState<{ readNow: () => void }>(() => ({ readNow: () => undefined }));
  const readLatest = useEffectEvent(read);
  const concerns = useEffectEvent((event: CloudEvent) => on?.(event) ?? false);

  useEffect(() => {
    if (key === null) return;
    const watch = watchReading<T>({
      read: (signal) => readLatest(signal),
      concerns: (event) => concerns(event),
      everyMs,
      onReading(reading) {
        keep(key, reading);
        setCurrent({ key, reading });
        if (reading.connection !== null) connectionReport(key, reading.connection);
      },
    });
    handle.readNow = watch.readNow;
    return () => {
      watch.stop();
      connectionForget(key);
    };
  }, [key, everyMs, handle]);

  // The first render after the key has changed shows what is known of the new one.
  const reading = current.key === key ? current.reading : recall<T>(key);
  return {
    value: reading.value,
    problem: reading.problem,
    loading: reading.value === null && reading.problem === null,
    readNow: () => handle.readNow(),
  };
}

/** Forgets everything that was read: another person may be next. */
export function forgetReadings(): void {
  kept.clear();
}

interface WatchOptions<T> {
  readonly read: (signal: AbortSignal) => Promise<T>;
  readonly concerns: (event: CloudEvent) => boolean;
  readonly everyMs: number;
  readonly onReading: (reading: Reading<T>) => void;
}

/** A poller that hints make read sooner. A hint during a read leads to one more behind it. */
function watchReading<T>({ read, concerns, everyMs, onReading }: WatchOptions<T>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let busy = false;
  let again = false;

  const poller = startPoller<T>({
    intervalMs: everyMs,
    onReading,
    async read(signal) {
      busy = true;
      try {
        return await read(signal);
      } finally {
        busy = false;
        if (again) hint();
        again = false;
      }
    },
  });

  function hint(): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (busy) again = true;
      else poller.readNow();
    }, GATHER_MS);
  }

  const deafen = onPlatformEvent((event) => {
    if (concerns(event)) hint();
  });
  const detach = onRefresh(hint);
  return {
    readNow: () => poller.readNow(),
    stop() {
      clearTimeout(timer);
      deafen();
      detach();
      poller.stop();
    },
  };
}

function recall<T>(key: string | null): Reading<T> {
  const known = key === null ? undefined : kept.get(key);
  return (known as Reading<T> | undefined) ?? NOTHING_READ;
}

function keep(key: string, reading: Reading<unknown>): void {
  kept.delete(key);
  kept.set(key, { ...reading, problem: null });
  const oldest = kept.keys().next();
  if (kept.size > MOST_KEPT && !oldest.done) kept.delete(oldest.value);
}
