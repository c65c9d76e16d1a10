/** What was typed into a deploy, kept in this tab until it is sent: a reload, a lost connection or an ended
 * session loses nothing. It belongs to one person, and holds no secret: forms of apps never do. */

import type { JsonObject } from "../../api/contract.ts";
import type { SentKey } from "../../forms/use-submission.ts";

export interface Draft {
  readonly version: string | null;
  readonly name: string;
  readonly displayName: string;
  readonly settings: JsonObject | null;
  readonly step: number;
  /** With which idempotency key it was sent, if it was: the same content is sent with it again. */
  readonly sent: SentKey | null;
}

export const NO_DRAFT: Draft = {
  version: null,
  name: "",
  displayName: "",
  settings: null,
  step: 0,
  sent: null,
};

export function draftKey(userId: string, projectId: string, slug: string): string {
  return `gpuaas.draft:${userId}:${projectId}:${slug}`;
}

export function draftRead(key: string): Draft {
  try {
    const stored = window.sessionStorage.getItem(key);
    return stored === null ? NO_DRAFT : { ...NO_DRAFT, ...(JSON.parse(stored) as Partial<Draft>) };
  } catch {
    return NO_DRAFT;
  }
}

export function draftWrite(key: string, draft: Draft): void {
  try {
    window.sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // Storage is blocked or full: the draft lasts as long as the page.
  }
}

export function draftForget(key: string): void {
  try {
    window.sessionStorage.removeItem(key);
  } catch {
    // Then there was none.
  }
}
