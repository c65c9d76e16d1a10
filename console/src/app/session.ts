/** Who is signed in. Kept here for the whole console; changed by the sign-in form and the top bar.
 *
 * `expired` is its own state: the page and everything typed on it stay, and the shell asks the same
 * person to sign in again on top of it. */

import { api, call, onUnauthenticated } from "../api/client.ts";
import type { JsonObject, Schemas, SignInAccount, Whoami } from "../api/contract.ts";
import { Problem } from "../api/problem.ts";
import { backoffDelay } from "../live/backoff.ts";
import { connection } from "../live/connection.ts";
import { forgetReadings } from "../live/kept.ts";
import { forgetNames } from "../live/names.ts";
import { createStore } from "../live/store.ts";
import { noticeAdd, notices } from "./notices.ts";
import { forgetTitles } from "./page-title.ts";
import { passkeySigned } from "./passkeys.ts";

export type Session =
  | { readonly kind: "unknown" }
  | { readonly kind: "anonymous" }
  | { readonly kind: "signed_in"; readonly who: Whoami }
  | { readonly kind: "expired"; readonly who: Whoami };

export const session = createStore<Session>({ kind: "unknown" });

/** Finds out who is signed in, and keeps knowing. Called once, at the start. */
export function followSession(): void {
  onUnauthenticated(sessionEnded);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && session.get().kind !== "anonymous") void sessionRead();
  });
  connection.subscribe(() => {
    if (connection.get() === "live" && session.get().kind === "unknown") void sessionRead();
  });
  void sessionRead();
}

/** What is sent beside the password, once the platform has asked for it. */
export interface Beside {
  /** Which account, where the password is that of several. */
  readonly user_id?: string;
  readonly code?: string;
  readonly passkey?: JsonObject;
}

/** Signs in, or answers with the accounts to choose from where the password is that of several. */
export async function signIn(
  email: string,
  password: string,
  beside: Beside = {},
): Promise<readonly SignInAccount[]> {
  const answer = await call(api.POST("/api/v1/sessions", { body: { email, password, ...beside } }));
  if ("accounts" in answer) return answer.accounts;
  sessionStarted(await call(api.GET("/api/v1/whoami")));
  return [];
}

export async function signInWithPasskey(
  email: string,
  password: string,
  beside: Beside = {},
): Promise<readonly SignInAccount[]> {
  const body = { email, password, ...beside };
  const asked = await call(api.POST("/api/v1/passkey-challenges", { body }));
  if ("accounts" in asked) return asked.accounts;
  return signIn(email, password, { ...beside, passkey: await passkeySigned(asked.options) });
}

/** Finishes a sign-in at a provider that waits for the person. */
export async function signInComplete(body: Schemas["PendingSignInComplete"]): Promise<void> {
  await call(api.POST("/api/v1/auth/oidc/pending", { body }));
  sessionStarted(await call(api.GET("/api/v1/whoami")));
}

export async function signOut(): Promise<void> {
  try {
    await call(
      api.DELETE("/api/v1/sessions/{session_id}", { params: { path: { session_id: "current" } } }),
    );
  } catch (thrown) {
    if (!(thrown instanceof Problem)) throw thrown;
    if (thrown.status !== 401) return noticeAdd(thrown);
  }
  sessionLeave();
}

/** Nobody is signed in here any more, and nothing of who was stays: another person may be next. */
export function sessionLeave(): void {
  forgetReadings();
  forgetNames();
  forgetTitles();
  notices.set([]);
  session.set({ kind: "anonymous" });
}

/** Reads anew who is signed in and what they may do: after a change of roles, or a refused stream. */
export async function sessionRead(): Promise<void> {
  try {
    sessionStarted(await call(api.GET("/api/v1/whoami")));
  } catch (thrown) {
    // A 401 has been dealt with by sessionEnded; after any other failure we know what we knew.
    if (!(thrown instanceof Problem)) throw thrown;
    if (session.get().kind === "unknown") askAgain();
    else failures = 0;
  }
}

let failures = 0;

/** Nothing can be shown before it is known who looks: the question is asked until it is answered. */
function askAgain(): void {
  failures += 1;
  setTimeout(() => {
    if (session.get().kind === "unknown") void sessionRead();
  }, backoffDelay(failures));
}

/** What to call the person who is signed in. */
export function displayName(who: Whoami): string {
  return who.display_name || who.email || who.id;
}

/** Who was signed in last in this page, also when they have left it. */
let last: string | null = null;

function sessionStarted(who: Whoami): void {
  const somebodyElse = last !== null && last !== who.id;
  last = who.id;
  session.set({ kind: "signed_in", who });
  // Nothing of the first person may stay on the screen.
  if (somebodyElse) window.location.reload();
}

function sessionEnded(): void {
  const current = session.get();
  if (current.kind === "signed_in") session.set({ kind: "expired", who: current.who });
  else if (current.kind === "unknown") session.set({ kind: "anonymous" });
}
