/** The only door to the platform: a typed client of the public API. Called by pages and by session.ts.
 * It gives every request a correlation id, every mutation an idempotency key and the CSRF token, and
 * turns every failure into a Problem. It never retries and never keeps an answer.
 *
 * A caller that may send the same mutation twice (a double click, a lost connection) passes its own
 * `Idempotency-Key`; one that updates what it has read passes `If-Match`. Both go out as given. */

import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./contract.ts";
import { newId } from "./correlation.ts";
import { Problem, problemFromAnswer, problemFromFailure } from "./problem.ts";

const CSRF_COOKIE = "gpuaas_csrf";
const MUTATIONS = new Set(["POST", "PUT", "PATCH", "DELETE"]);

const unauthenticated = new EventTarget();

const manners: Middleware = {
  onRequest({ request }) {
    setDefault(request.headers, "X-Correlation-ID", newId("web_"));
    if (!MUTATIONS.has(request.method)) return;
    setDefault(request.headers, "Idempotency-Key", newId("web_"));
    const token = cookie(CSRF_COOKIE);
    if (token !== null) request.headers.set("X-CSRF-Token", token);
  },
  onResponse({ response }) {
    if (response.status === 401) unauthenticated.dispatchEvent(new Event("unauthenticated"));
  },
  onError({ error, request }) {
    return problemFromFailure(error, request.headers.get("X-Correlation-ID"));
  },
};

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  // Looked up at every call, so that a test can stand in for the network.
  fetch: (request) => globalThis.fetch(request),
});
api.use(manners);

/** The data of a successful answer; anything else is thrown as a Problem. */
export async function call<T>(
  request: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<T> {
  const { data, error, response } = await request.catch((failure: unknown) => {
    throw problemFromFailure(failure, null);
  });
  if (!response.ok) throw problemFromAnswer(response, error);
  return data as T;
}

/** Calls `listener` whenever the platform answers that nobody is signed in. Returns the way to stop. */
export function onUnauthenticated(listener: () => void): () => void {
  unauthenticated.addEventListener("unauthenticated", listener);
  return () => unauthenticated.removeEventListener("unauthenticated", listener);
}

/** What was thrown, as a Problem. For a `catch` around `call`; another error is a bug and passes on. */
export function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  throw thrown;
}

function setDefault(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
}

function cookie(name: string): string | null {
  const pair = document.cookie.split("; ").find((entry) => entry.startsWith(`${name}=`));
  return pair === undefined ? null : decodeURIComponent(pair.slice(name.length + 1));
}
