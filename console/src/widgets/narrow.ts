/** Whether the window is as narrow as a phone: rows of many columns do not fit. */

import { useSyncExternalStore } from "react";

/** Where the design system's own parts begin to stack. */
const NARROW = "(max-width: 688px)";

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, isNarrow);
}

function isNarrow(): boolean {
  return media()?.matches ?? false;
}

function subscribe(onChange: () => void): () => void {
  const query = media();
  query?.addEventListener("change", onChange);
  return () => query?.removeEventListener("change", onChange);
}

/** Null where there is no screen. */
function media(): MediaQueryList | null {
  return typeof window.matchMedia === "function" ? window.matchMedia(NARROW) : null;
}
