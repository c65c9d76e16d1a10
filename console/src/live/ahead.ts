/** Reads that begin while a page is still being drawn, and the page that waits for them, for a moment: it is
 * drawn once, with what it shows, in place of twice. Used by use-live.ts and use-polling.ts, and by the frame
 * of a page.
 *
 * A page that never comes to stand leaves an answer that nobody takes. */

import { createContext, use, useContext, useEffect, useState } from "react";
import { hintsSoFar } from "./events.ts";
import { PATIENCE_MS } from "./poller.ts";

interface Ahead {
  readonly answer: Promise<unknown>;
  readonly began: number;
  /** The hints there had been: one more since then, and the answer may be old. */
  readonly hints: number;
  /** Resolves when the answer is there, or has taken too long to wait for. */
  readonly waited: Promise<void>;
  /** Only what is drawn later waits for it. */
  readonly later: boolean;
  over: boolean;
  /** A reader has it; whoever waits for it still does. */
  taken: boolean;
}

/** Longer than this nobody looks at the page they left: the next one says that it reads. */
const WAIT_MS = 150;
/** How long an answer is taken for a first read. */
const RECENT_MS = 2_000;

const begun = new Map<string, Ahead>();
/** React takes a promise that says so for one that is kept. */
let lastWait: Promise<unknown> = Object.assign(Promise.resolve(), {
  status: "fulfilled",
  value: undefined,
});

interface Beginning<T> {
  readonly read: (signal: AbortSignal) => Promise<T>;
  readonly onAnswer: (value: T) => void;
  /** Only what is drawn later waits. */
  readonly later?: boolean;
}

/** Begins to read what `key` names, unless that was done a moment ago. */
export function beginAhead<T>(key: string, { read, onAnswer, later = false }: Beginning<T>): void {
  if (isFresh(begun.get(key))) return;
  for (const [old, one] of begun) if (!isRecent(one)) begun.delete(old);
  const answer = read(AbortSignal.timeout(PATIENCE_MS));
  // Whoever takes a failure is told of it.
  const ended = answer.then(onAnswer, () => undefined);
  const waited = Promise.race([ended, pause(WAIT_MS)]);
  const [began, hints] = [Date.now(), hintsSoFar()];
  const made: Ahead = { answer, began, hints, waited, later, over: false, taken: false };
  void waited.then(() => {
    made.over = true;
  });
  begun.set(key, made);
}

/** The read of `key` that began ahead, once; null when there is none, or something happened since. */
export function takeAhead<T>(key: string): Promise<T> | null {
  const found = begun.get(key);
  if (!isFresh(found)) return null;
  found.taken = true;
  return found.hints === hintsSoFar() ? (found.answer as Promise<T>) : null;
}

export function forgetAhead(): void {
  begun.clear();
}

/** A page, or a part of one, from its first drawing on. */
export interface Drawing {
  shown: boolean;
  /** Drawn right behind the first screen. */
  readonly later: boolean;
}

/** What a component is drawn with; outside of all pages everything stands already. */
export const DrawingContext = createContext<Drawing>({ shown: true, later: false });

/** A drawing of its own, shown once it stands. */
export function useDrawing(later: boolean): Drawing {
  const [drawing] = useState<Drawing>(() => ({ shown: false, later }));
  useEffect(() => {
    drawing.shown = true;
  }, [drawing]);
  return drawing;
}

/** Lets a page wait, before it is shown for the first time, for all that has begun to be read. */
export function waitAhead(drawing: Drawing): void {
  if (drawing.shown) return;
  const pending = pendingFor(drawing);
  // One wait for all: with each a page would be drawn once more, only to be thrown away.
  if (pending.length > 0) lastWait = Promise.all(pending.map(({ waited }) => waited));
  use(lastWait);
}

/** Whether what is drawn now is thrown away, since its page waits: what is dear need not be drawn. */
export function useThrownAway(): boolean {
  const drawing = useContext(DrawingContext);
  return !drawing.shown && pendingFor(drawing).length > 0;
}

function pendingFor(drawing: Drawing): Ahead[] {
  return [...begun.values()].filter(({ over, later }) => !over && (!later || drawing.later));
}

function isFresh(found: Ahead | undefined): found is Ahead {
  return isRecent(found) && !found.taken;
}

function isRecent(found: Ahead | undefined): found is Ahead {
  return found !== undefined && Date.now() - found.began < RECENT_MS;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
