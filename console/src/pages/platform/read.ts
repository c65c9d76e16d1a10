/** What the platform page reads: readiness and version, in one go. */

import { api, call } from "../../api/client.ts";
import type { Readiness, Version } from "../../api/contract.ts";
import { problemFromAnswer, unexpectedAnswer } from "../../api/problem.ts";

export interface PlatformState {
  readonly readiness: Readiness;
  readonly version: Version;
}

export async function readPlatform(signal: AbortSignal): Promise<PlatformState> {
  const [readiness, version] = await Promise.all([
    readReadiness(signal),
    call(api.GET("/api/v1/version", { signal })),
  ]);
  return { readiness, version };
}

/** "Not ready" is an answer with status 503, not a failure to read one. */
async function readReadiness(signal: AbortSignal): Promise<Readiness> {
  const { data, error, response } = await api.GET("/api/v1/health/ready", { signal });
  const body: unknown = data ?? error;
  if (isReadiness(body)) return body;
  if (!response.ok) throw problemFromAnswer(response, body);
  throw unexpectedAnswer(response.headers.get("X-Correlation-ID"));
}

function isReadiness(body: unknown): body is Readiness {
  return (
    typeof body === "object" &&
    body !== null &&
    "status" in body &&
    "checks" in body &&
    Array.isArray(body.checks)
  );
}
