/** What was typed into a deploy, kept in this tab until it is sent: a reload, a lost connection or an ended
 * session loses nothing. It belongs to one person, and holds no secret: forms of apps never do. */

import { type Dispatch, type SetStateAction, useEffect, useState } from "react";
import type { JsonObject } from "../../api/contract.ts";
import type { ProjectApp } from "../../forms/project-app.ts";
import type { SentKey } from "../../forms/use-submission.ts";

export interface Draft {
  readonly version: string | null;
  readonly name: string;
  /** The name that was suggested: as long as it stands there, nobody has typed one. */
  readonly suggested: string;
  readonly displayName: string;
  readonly settings: JsonObject | null;
  /** What was answered to another version, for the form of this one to begin with. */
  readonly answers: JsonObject | null;
  /** The chosen version that came to be unavailable: another one stands in its place. */
  readonly replaced: string | null;
  readonly step: number;
  /** With which idempotency key it was sent, if it was: the same content is sent with it again. */
  readonly sent: SentKey | null;
}

export const NO_DRAFT: Draft = {
  version: null,
  name: "",
  suggested: "",
  displayName: "",
  settings: null,
  answers: null,
  replaced: null,
  step: 0,
  sent: null,
};

/** The draft of this deploy, written down as it changes. */
export function useDraft(
  key: string,
  app: ProjectApp,
): readonly [Draft, Dispatch<SetStateAction<Draft>>] {
  const [draft, setDraft] = useState(() => settled(named(draftRead(key), app.slug), app));
  // A version may be withdrawn while the wizard is open.
  useEffect(() => setDraft((current) => settled(current, app)), [app]);
  useEffect(() => draftWrite(key, draft), [key, draft]);
  return [draft, setDraft];
}

/** With a version that can be deployed. In place of one that no longer can stands the latest, and whoever had
 * chosen it begins anew with that: another version may ask for something else. */
export function settled(draft: Draft, app: ProjectApp): Draft {
  const { version } = draft;
  if (app.versions.some((one) => one.available && one.version === version)) return draft;
  if (version === app.latest_available && draft.step === 0) return draft;
  const chosen = { ...versionChosen(draft, app.latest_available), step: 0 };
  return { ...chosen, replaced: version ?? draft.replaced };
}

/** What was answered so far is kept, as far as the other version asks for it too. */
export function versionChosen(draft: Draft, version: string | null): Draft {
  if (version === draft.version) return draft;
  const answers = draft.settings ?? draft.answers;
  return { ...draft, version, settings: null, answers, replaced: null };
}

/** Whether a person would lose anything with it. */
export function isTyped({ name, suggested, displayName, settings, answers }: Draft): boolean {
  return name !== suggested || displayName !== "" || settings !== null || answers !== null;
}

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

function named(draft: Draft, slug: string): Draft {
  if (draft.name !== "") return draft;
  const suggested = `${slug}-${Math.random().toString(36).slice(2, 6)}`;
  return { ...draft, name: suggested, suggested };
}
