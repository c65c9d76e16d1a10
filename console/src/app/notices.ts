/** What the person should be told whatever page they are on: problems of what they asked for, and what
 * was begun for them. Added by pages and the session, shown by the shell's flashbar until dismissed. */

import type { Problem } from "../api/problem.ts";
import { released } from "../live/press.ts";
import { createStore } from "../live/store.ts";

export type Notice =
  | { readonly id: string; readonly kind: "problem"; readonly problem: Problem }
  | { readonly id: string; readonly kind: "done"; readonly text: string; readonly href?: string };

const MOST = 5;
/** What went well is said for a while; what did not stays until it is dismissed. */
const DONE_FOR_MS = 7_000;

export const notices = createStore<readonly Notice[]>([]);

/** Shows a problem. The same one again replaces the earlier: no wall of copies. */
export function noticeAdd(problem: Problem): void {
  add({ id: `${problem.code}:${problem.message}`, kind: "problem", problem });
}

/** Says that something was done, with a link to where it can be followed. */
export function noticeDone(text: string, href?: string): void {
  const id = `done:${text}`;
  add({ id, kind: "done", text, ...(href === undefined ? {} : { href }) });
  setTimeout(() => void released().then(() => noticeDismiss(id)), DONE_FOR_MS);
}

export function noticeDismiss(id: string): void {
  notices.set(notices.get().filter((notice) => notice.id !== id));
}

function add(notice: Notice): void {
  const others = notices.get().filter(({ id }) => id !== notice.id);
  notices.set([notice, ...others].slice(0, MOST));
}
