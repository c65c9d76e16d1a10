/** A refused or failed request as the rest of the console sees it (RFC 9457, plus our own members).
 * Made by client.ts, shown by widgets/problem-details.tsx. It never guesses: what the platform did
 * not say is absent. */

import { isJsonObject, type JsonObject } from "./contract.ts";

export interface FieldError {
  readonly pointer: string;
  readonly message: string;
}

interface ProblemFacts {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly correlationId: string | null;
  readonly retryable?: boolean;
  readonly nextActions?: readonly string[];
  readonly fieldErrors?: readonly FieldError[];
  readonly retryAfterSeconds?: number | null;
  readonly context?: JsonObject;
}

export class Problem extends Error {
  override readonly name = "Problem";
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly correlationId: string | null;
  readonly retryable: boolean;
  readonly nextActions: readonly string[];
  readonly fieldErrors: readonly FieldError[];
  readonly retryAfterSeconds: number | null;
  /** What a program may need beside the sentence, by the problem's code. */
  readonly context: JsonObject;

  constructor(facts: ProblemFacts) {
    super(facts.detail);
    this.status = facts.status;
    this.code = facts.code;
    this.title = facts.title;
    this.correlationId = facts.correlationId;
    this.retryable = facts.retryable ?? false;
    this.nextActions = facts.nextActions ?? [];
    this.fieldErrors = facts.fieldErrors ?? [];
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
    this.context = facts.context ?? {};
  }

  /** No word from the platform itself: the network, or a gateway in front of it, failed. */
  get unreachable(): boolean {
    return this.code === "unreachable";
  }
}

/** The problem an answer that is not a success carries. */
export function problemFromAnswer(response: Response, body: unknown): Problem {
  const correlationId = response.headers.get("X-Correlation-ID");
  const retryAfterSeconds = secondsOf(response.headers.get("Retry-After"));
  if (!isJsonObject(body) || typeof body.code !== "string") {
    return answerWithoutProblem(response, correlationId, retryAfterSeconds);
  }
  const title = text(body.title) ?? `The platform answered ${response.status}`;
  return new Problem({
    status: response.status,
    code: body.code,
    title,
    detail: text(body.detail) ?? title,
    correlationId: text(body.correlation_id) ?? correlationId,
    retryable: body.retryable === true,
    nextActions: nextActionsOf(response.status, body.next_actions),
    fieldErrors: list(body.errors).filter(isFieldError),
    retryAfterSeconds,
    context: isJsonObject(body.context) ? body.context : {},
  });
}

/** The problem behind a request that got no answer, or one that cannot be read. */
export function problemFromFailure(failure: unknown, correlationId: string | null): Problem {
  if (failure instanceof Problem) return failure;
  if (failure instanceof SyntaxError) return unexpectedAnswer(correlationId);
  const late = failure instanceof DOMException && failure.name === "TimeoutError";
  return new Problem({
    status: 0,
    code: "unreachable",
    title: "The platform does not answer",
    detail: late
      ? "The request was given up after waiting too long for an answer."
      : "The request did not reach the platform, or the connection was lost before it answered.",
    correlationId,
    retryable: true,
    nextActions: ["check_connection", "retry"],
  });
}

/** The problem of an answer that came, and is not what the contract says. */
export function unexpectedAnswer(correlationId: string | null): Problem {
  return new Problem({
    status: 0,
    code: "unexpected_answer",
    title: "The platform's answer cannot be read",
    detail:
      "What came back is not what the contract says. Console and platform may differ in version.",
    correlationId,
    nextActions: ["reload", "report_correlation_id"],
  });
}

const GATEWAY_STATUSES = new Set([502, 503, 504]);

function answerWithoutProblem(
  response: Response,
  correlationId: string | null,
  retryAfterSeconds: number | null,
): Problem {
  const fromGateway = GATEWAY_STATUSES.has(response.status);
  return new Problem({
    status: response.status,
    code: fromGateway ? "unreachable" : `http_${response.status}`,
    title: fromGateway ? "The platform does not answer" : `The answer was ${response.status}`,
    detail: `The request was answered with status ${response.status} and no explanation.`,
    correlationId,
    retryable: fromGateway || response.status === 429,
    nextActions: fromGateway ? ["retry"] : ["report_correlation_id"],
    retryAfterSeconds,
  });
}

function secondsOf(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

function isFieldError(value: unknown): value is FieldError {
  return (
    isJsonObject(value) && typeof value.pointer === "string" && typeof value.message === "string"
  );
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Nobody is left without a way on, also where the platform names none. */
function nextActionsOf(status: number, said: unknown): readonly string[] {
  const named = list(said).filter((action) => typeof action === "string");
  if (named.length > 0) return named;
  return [status === 404 ? "check_address" : "report_correlation_id"];
}
