/** Why a sign-in through the provider was refused: the platform sends the browser back here with the code of
 * the problem and its correlation id. Anybody can write an address: only known codes get a sentence. */

import { Problem } from "../../api/problem.ts";

const SENTENCES: Readonly<Record<string, string>> = {
  sign_in_failed:
    "The provider did not let you in, or no account here is open to you through it. Try again, or " +
    "ask your administrator.",
  dependency_unavailable: "The provider could not be reached. Try again in a moment.",
  service_unavailable: "The provider could not be reached. Try again in a moment.",
};

export function refusalOf(search: string): Problem | null {
  const query = new URLSearchParams(search);
  const code = query.get("error");
  if (code === null || !/^[a-z_]{1,60}$/.test(code)) return null;
  const id = query.get("correlation_id");
  return new Problem({
    status: 0,
    code,
    title: "You are not signed in",
    detail: SENTENCES[code] ?? "The sign-in was refused. Try again.",
    correlationId: id !== null && /^[\w.:-]{1,128}$/.test(id) ? id : null,
    nextActions: ["retry"],
  });
}
