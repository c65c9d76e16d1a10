/** What pages call themselves, by their addresses. Told by the frame of a page (widgets/page.tsx) before it is
 * painted, and by a page of what leads to it; the shell names the steps of its trail so, and the window. */

import { useLayoutEffect, useSyncExternalStore } from "react";
import { createStore } from "../live/store.ts";

const told = createStore<ReadonlyMap<string, string>>(new Map());

/** Says what the page at an address is called; null while that is not known. */
export function useTellTitle(pathname: string, title: string | null): void {
  useLayoutEffect(() => {
    if (title === null || titleOf(pathname) === title) return;
    told.set(new Map([...told.get(), [pathname, title]]));
  }, [pathname, title]);
}

/** Null where nobody has said it. */
export function titleOf(pathname: string): string | null {
  return told.get().get(pathname) ?? null;
}

export function useTitleOf(pathname: string): string | null {
  return useSyncExternalStore(told.subscribe, () => titleOf(pathname));
}

/** Another person may be next. */
export function forgetTitles(): void {
  told.set(new Map());
}
