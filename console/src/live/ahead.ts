/** Reads that begin while a page is still being drawn, and the page that waits for them, for a moment: it is
 * drawn once, with what it shows, in place of twice. Used by use-live.ts, and by the frame of a page.
 *
 * A page that never comes to stand leaves an answer that nobody takes. */

import { use, useEffect, useState } from "react";
import { hintsSoFar } from "./events.ts";
import { PATIENCE_MS } from "./poller.ts";

interface Ahead {
  readonly answer: Promise<unknown>;
  readonly began: number;
  /** The hints there had been: one more since then, and the answer may be old. */
  readonly hints: number;
  /** Resolves when the answer is there, or has taken too long to wait for. */
  readonly waited: Promise<void>;
  over: boolean;
}

/** Longer than this nobody looks at the page they left: the next one says that it reads. */
const WAIT_MS = 150;
/** How long an answer is taken for a first read. */
const RECENT_MS = 2_000;

const begun = new Map<string, Ahead>();

/** Begins to read what `key` names, unless that was done a moment ago. */
export function beginAhead<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  onAnswer: (value: T) => void,
): void {
  if (isRecent(begun.get(key))) return;
  for (const [old, one] of begun) if (!isRecent(one)) begun.delete(old);
  const answer = read(AbortSignal.timeout(PATIENCE_MS));
  // Whoever takes a failure is told of it.
  const ended = answer.then(onAnswer, () => undefined);
  const waited = Promise.race([ended, pause(WAIT_MS)]);
  const made: Ahead = { answer, began: Date.now(), hints: hintsSoFar(), waited, over: false };
  void waited.then(() => {
    made.over = true;
  });
  begun.set(key, made);
}

/** The read of `key` that began ahead, once; null when there is none, or something happened since. */
export function takeAhead<T>(key: string): Promise<T> | null {
  const found = begun.get(key);
  begun.delete(key);
  if (!isRecent(found) || found.hints !== hintsSoFar()) return null;
  return found.answer as Promise<T>;
}

export function forgetAhead(): void {
  begun.clear();
}

/** Lets a page wait, before it is shown for the first time, for what it has begun to read. */
export function useAhead(): void {
  const [page] = useState(() => ({ shown: false }));
  useEffect(() => {
    page.shown = true;
  }, [page]);
  if (page.shown) return;
  for (const { over, waited } of begun.values()) {
    if (!over) use(waited);
  }
}

function isRecent(found: Ahead | undefined): found is Ahead {
  return found !== undefined && Date.now() - found.began < RECENT_MS;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
