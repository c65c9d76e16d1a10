/** What was read and may be shown again at once: the latest of every key, of as many keys as fit. Used by
 * use-live.ts and use-polling.ts, and by whoever ends a session. */

import { forgetAhead } from "./ahead.ts";
import { NOTHING_READ, type Reading } from "./poller.ts";

const MOST_KEPT = 200;

const kept = new Map<string, Reading<unknown>>();

/** What is known of a key: what was read, or else its seed. */
export function recall<T>(key: string | null, seed: () => T | null = () => null): Reading<T> {
  if (key === null) return NOTHING_READ;
  const known = kept.get(key) as Reading<T> | undefined;
  if (known !== undefined && known.value !== null) return known;
  return { ...NOTHING_READ, value: seed() };
}

export function keep(key: string, reading: Reading<unknown>): void {
  kept.delete(key);
  kept.set(key, { ...reading, problem: null });
  const oldest = kept.keys().next();
  if (kept.size > MOST_KEPT && !oldest.done) kept.delete(oldest.value);
}

/** Keeps what was read ahead of its page. */
export function keepFirst(key: string, value: unknown): void {
  if (!kept.has(key)) keep(key, { ...NOTHING_READ, value, readAt: Date.now() });
}

/** What was read under keys that begin so. */
export function* keptReadings(prefix: string): Iterable<unknown> {
  for (const [key, { value }] of kept) {
    if (key.startsWith(prefix)) yield value;
  }
}

/** Forgets everything that was read: another person may be next. */
export function forgetReadings(): void {
  kept.clear();
  forgetAhead();
}
