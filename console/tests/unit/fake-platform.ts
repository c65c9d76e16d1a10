/** Stands in for the network: answers by method and path, and keeps what was asked. */

import { vi } from "vitest";
import type { Whoami } from "../../src/api/contract.ts";

type Answer = (request: Request) => Response | Promise<Response>;

export interface FakePlatform {
  readonly requests: Request[];
  /** Answers `GET /path` (or another method) from now on. */
  on(route: string, answer: Answer): void;
}

export function fakePlatform(): FakePlatform {
  const answers = new Map<string, Answer>();
  const requests: Request[] = [];
  vi.stubGlobal("fetch", async (input: Request) => {
    requests.push(input.clone());
    const answer = answers.get(`${input.method} ${new URL(input.url).pathname}`);
    return answer === undefined ? problem(404, "not_found") : answer(input);
  });
  return { requests, on: (route, answer) => answers.set(route, answer) };
}

export function json(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
}

export function problem(
  status: number,
  code: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Response {
  const body = { type: "about:blank", title: `Title of ${code}`, status, code, ...more };
  return json(status, body, { "Content-Type": "application/problem+json", ...headers });
}

/** Somebody who is signed in, as the platform describes them. */
export function person(email: string): Whoami {
  return {
    id: "user_1",
    kind: "user",
    email,
    display_name: "Ada",
    home: { kind: "platform" },
    token_id: null,
    bindings: [],
    permissions: [],
  };
}
