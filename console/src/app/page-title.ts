/** What the page that is shown calls itself. Told by the frame of a page (widgets/page.tsx) before it is painted;
 * the shell ends its trail with it, and names the window by it. */

import { useSyncExternalStore } from "react";
import { createStore } from "../live/store.ts";

interface Told {
  readonly pathname: string;
  readonly title: string;
}

const told = createStore<Told | null>(null);

export function tellTitle(pathname: string, title: string): void {
  told.set({ pathname, title });
}

/** Null while the page at this address has not said anything. */
export function titleOf(pathname: string): string | null {
  const latest = told.get();
  return latest?.pathname === pathname ? latest.title : null;
}

export function useTitleOf(pathname: string): string | null {
  return useSyncExternalStore(told.subscribe, () => titleOf(pathname));
}
