/** Something read from the platform and kept current: read at once, again when an event says that it
 * may have changed, and now and then in any case. What was read before is shown at once when a page
 * is opened again. Whoever shows the same at the same time shares one reader. Called by pages and
 * widgets; reports to the connection shown on top. */

import { useEffect, useEffectEvent, useState } from "react";
import type { CloudEvent } from "../api/contract.ts";
import type { Problem } from "../api/problem.ts";
import { beginAhead, takeAhead } from "./ahead.ts";
import { connectionForget, connectionReport } from "./connection.ts";
import { onPlatformEvent, onRefresh } from "./events.ts";
import { keep, keepFirst, recall } from "./kept.ts";
import { type Reading, startPoller } from "./poller.ts";

export interface Live<T> {
  readonly value: T | null;
  /** Why the latest read failed; what was read before stays in `value`. */
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly readNow: () => void;
}

export interface LiveOptions<T> {
  /** Whether an event says that this may have changed. Without it none does. */
  readonly on?: (event: CloudEvent) => boolean;
  readonly everyMs?: number;
  /** What is known of it from elsewhere, such as its row of a list: shown until it was read itself. */
  readonly seed?: () => T | null;
  /** What stands first on the page can do without it: only what is drawn later waits. */
  readonly later?: boolean;
}

const EVERY_MS = 30_000;
/** Hints that come together lead to one read. */
const GATHER_MS = 120;

/** What `useLive` is called with; a page that reads ahead says it in one place. */
export type LiveArguments<T> = readonly [
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  options?: LiveOptions<T>,
];

/** Reads what `key` names. A key of null reads nothing: what it needs is not known yet. */
export function useLive<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  { on, everyMs = EVERY_MS, seed = () => null, later = false }: LiveOptions<T> = {},
): Live<T> {
  const [current, setCurrent] = useState<Current<T>>(() => ({ key, reading: recall(key, seed) }));
  const [handle] = useState<{ readNow: () => void }>(() => ({ readNow: () => undefined }));
  const readLatest = useEffectEvent(read);
  const concerns = useEffectEvent((event: CloudEvent) => on?.(event) ?? false);
  const seedLatest = useEffectEvent(seed);
  const begin = () => readAhead(key, read, { seed, later });
  // What comes later is asked for once the rest is drawn: at the same time, both would take longer.
  const beginLater = useEffectEvent(() => later && begin());
  if (!later) begin();

  useEffect(() => {
    if (key === null) return;
    beginLater();
    const reader: Reader<T> = {
      read: (signal) => readLatest(signal),
      concerns: (event) => concerns(event),
      seed: () => seedLatest(),
      onReading: (reading) => setCurrent((before) => changed(before, { key, reading })),
    };
    const joined = join(key, everyMs, reader as Reader<unknown>);
    handle.readNow = joined.readNow;
    return joined.leave;
  }, [key, everyMs, handle]);

  // The first render after the key has changed shows what is known of the new one.
  const reading = current.key === key ? current.reading : recall(key, seed);
  return {
    value: reading.value,
    problem: reading.problem,
    loading: reading.value === null && reading.problem === null,
    readNow: () => handle.readNow(),
  };
}

/** What was read of it, or is known from elsewhere. */
export function known<T>([key, , { seed } = {}]: LiveArguments<T>): T | null {
  return recall(key, seed).value;
}

/** Begins to read what will be drawn, where nothing is known of it yet. */
export function readAhead<T>(...[key, read, { seed, later = false } = {}]: LiveArguments<T>): void {
  if (key === null || shared.has(key) || recall(key, seed).value !== null) return;
  beginAhead(key, { read, onAnswer: (value) => keepFirst(key, value), later });
}

/** One place on the screen that shows what a key names. */
interface Reader<T> {
  readonly read: (signal: AbortSignal) => Promise<T>;
  readonly concerns: (event: CloudEvent) => boolean;
  readonly seed: () => T | null;
  readonly onReading: (reading: Reading<T>) => void;
}

interface Shared {
  readonly readers: Set<Reader<unknown>>;
  readonly watch: { readonly readNow: () => void; readonly stop: () => void };
}

const shared = new Map<string, Shared>();

/** Takes part in the reading of a key; the first begins it, the last to leave ends it. */
function join(key: string, everyMs: number, reader: Reader<unknown>) {
  const known = recall(key, reader.seed);
  if (known.value !== null) keep(key, known);
  const { readers, watch } = shared.get(key) ?? begin(key, everyMs, reader);
  readers.add(reader);
  if (known.value !== null) reader.onReading(known);
  return {
    readNow: watch.readNow,
    leave() {
      readers.delete(reader);
      if (readers.size > 0) return;
      watch.stop();
      shared.delete(key);
      connectionForget(key);
    },
  };
}

function begin(key: string, everyMs: number, first: Reader<unknown>): Shared {
  const readers = new Set([first]);
  const watch = watchReading<unknown>({
    everyMs,
    read(signal) {
      // Whoever is still there asks; all of them would ask the same.
      const [reader = first] = readers;
      return takeAhead(key) ?? reader.read(signal);
    },
    concerns: (event) => [...readers].some((reader) => reader.concerns(event)),
    onReading(reading) {
      const latest = settled(recall(key), reading);
      keep(key, latest);
      for (const reader of [...readers]) reader.onReading(latest);
      if (latest.connection !== null) connectionReport(key, latest.connection);
    },
  });
  const made = { readers, watch };
  shared.set(key, made);
  return made;
}

/** The new reading; with the value there was when it could not be read now, and when it is the same:
 * nothing has to be drawn again. */
function settled<T>(before: Reading<T>, now: Reading<T>): Reading<T> {
  if (before.value === null || before.value === now.value) return now;
  if (now.problem !== null) return { ...now, value: before.value, readAt: before.readAt };
  const same = JSON.stringify(before.value) === JSON.stringify(now.value);
  return same ? { ...now, value: before.value } : now;
}

interface Current<T> {
  readonly key: string | null;
  readonly reading: Reading<T>;
}

function changed<T>(before: Current<T>, now: Current<T>): Current<T> {
  const same =
    before.key === now.key &&
    before.reading.value === now.reading.value &&
    before.reading.problem === now.reading.problem;
  return same ? before : now;
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
