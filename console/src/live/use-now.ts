/** The time, looked at once a second by one clock for the whole console, for texts such as "4 s ago". Whoever
 * shows such a text is drawn again only when it has changed. */

import { useSyncExternalStore } from "react";

const TICK_MS = 1000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

export function useNow(): number {
  return useAtTime((time) => time);
}

/** What follows from the time. */
export function useAtTime<T extends string | number>(derive: (now: number) => T): T {
  return useSyncExternalStore(subscribe, () => derive(current()));
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) timer = setInterval(tick, TICK_MS);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

function tick(): void {
  now = Date.now();
  for (const listener of [...listeners]) listener();
}

/** Within a tick always the same: what is drawn together tells the same time. */
function current(): number {
  if (Math.abs(Date.now() - now) >= TICK_MS) now = Date.now();
  return now;
}
