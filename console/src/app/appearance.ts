/** Light or dark: what the system says, unless the person chose, and then that is remembered. Applied
 * by main.tsx before the first paint; changed from the top bar. */

import { applyMode, Mode } from "@cloudscape-design/global-styles";
import { createStore } from "../live/store.ts";

export const APPEARANCES = ["system", "light", "dark"] as const;
export type Appearance = (typeof APPEARANCES)[number];

const KEY = "gpuaas.appearance";

export const appearance = createStore<Appearance>(remembered());

/** Applies the appearance now and whenever the choice or the system's mode changes. */
export function followAppearance(): void {
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const choice = appearance.get();
    const dark = choice === "dark" || (choice === "system" && systemDark.matches);
    applyMode(dark ? Mode.Dark : Mode.Light);
  };
  systemDark.addEventListener("change", apply);
  appearance.subscribe(apply);
  apply();
}

export function chooseAppearance(choice: Appearance): void {
  appearance.set(choice);
  try {
    window.localStorage.setItem(KEY, choice);
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
}

function remembered(): Appearance {
  try {
    const stored = window.localStorage.getItem(KEY);
    return APPEARANCES.find((choice) => choice === stored) ?? "system";
  } catch {
    return "system";
  }
}
