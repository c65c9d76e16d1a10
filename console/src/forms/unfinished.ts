/** What was typed and is no value yet: JSON that does not parse, a value that has no name. It stands in the value
 * of the form where the value would, so that nothing typed is lost and nothing older is sent in its place:
 * check.ts refuses it. Written by the widgets that take apart what is typed. Pure. */

import { isJsonObject, type Json } from "../api/contract.ts";

export interface Unfinished {
  /** As it was typed. */
  readonly text: string;
  readonly why: string;
}

/** Nobody types it, and no text on the platform holds it. */
const MARK = "\u0000";

export function unfinished(text: string, why: string): string {
  return MARK + JSON.stringify({ text, why });
}

/** What was typed, where that is no value yet; null of every value. */
export function unfinishedOf(value: Json | undefined): Unfinished | null {
  if (typeof value !== "string" || !value.startsWith(MARK)) return null;
  const kept: unknown = JSON.parse(value.slice(MARK.length));
  return isJsonObject(kept) ? { text: String(kept.text), why: String(kept.why) } : null;
}
