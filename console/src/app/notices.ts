/** What the person should be told whatever page they are on: problems of what they asked for. Added by
 * pages and the session, shown by the shell's flashbar until dismissed. */

import type { Problem } from "../api/problem.ts";
import { createStore } from "../live/store.ts";

export interface Notice {
  readonly id: string;
  readonly problem: Problem;
}

const MOST = 5;

export const notices = createStore<readonly Notice[]>([]);

/** Shows a problem. The same one again replaces the earlier: no wall of copies. */
export function noticeAdd(problem: Problem): void {
  const id = `${problem.code}:${problem.message}`;
  const others = notices.get().filter((notice) => notice.id !== id);
  notices.set([{ id, problem }, ...others].slice(0, MOST));
}

export function noticeDismiss(id: string): void {
  notices.set(notices.get().filter((notice) => notice.id !== id));
}
