/** Follows the platform's events over one long request, and comes back by itself when it breaks.
 * Opened by whoever shows live data. It is `EventSource` on top of `fetch`: that one cannot send
 * headers, hides why it failed, and gives up on a 5xx.
 *
 * Events are hints: a reader refetches what an event names and never takes the event for the state.
 * After a break the stream resumes behind the last event seen (`Last-Event-ID`), so nothing is lost. */

import { newId } from "../api/correlation.ts";
import { type Problem, problemFromAnswer, unexpectedAnswer } from "../api/problem.ts";
import { backoffDelay } from "./backoff.ts";
import { type ConnectionState, stateAfterFailures } from "./connection.ts";
import { createSseParser, type SseParser, type StreamEvent } from "./sse-parser.ts";

export interface EventStreamOptions {
  readonly url: string;
  readonly onEvent: (event: StreamEvent) => void;
  readonly onState: (state: ConnectionState) => void;
  /** The platform refused the stream for good (no permission, no such stream): it stays closed. */
  readonly onRefused: (problem: Problem) => void;
  /** Resume behind this event. */
  readonly lastEventId?: string;
  /** Silence longer than this is a dead connection. The platform sends a comment more often. */
  readonly silenceMs?: number;
}

/** Opens the stream. Returns the way to close it. */
export function openEventStream(options: EventStreamOptions): () => void {
  const closed = new AbortController();
  void follow(options, closed.signal);
  return () => closed.abort();
}

const SILENCE_MS = 45_000;
const CORRELATION = "X-Correlation-ID";

async function follow(options: EventStreamOptions, closed: AbortSignal): Promise<void> {
  let lastEventId = options.lastEventId ?? "";
  let retryMs = 0;
  let failures = 0;
  while (!closed.aborted) {
    const parser = createSseParser(lastEventId);
    const end = await readOnce(options, parser, closed);
    if (closed.aborted) return;
    if (end.kind === "refused") return options.onRefused(end.problem);
    lastEventId = parser.lastEventId;
    retryMs = parser.retryMs ?? retryMs;
    failures = end.heard ? 1 : failures + 1;
    options.onState(stateAfterFailures(failures));
    await pause(backoffDelay(failures, Math.max(retryMs, end.waitMs)), closed);
  }
}

type End =
  | { readonly kind: "refused"; readonly problem: Problem }
  | { readonly kind: "broken"; readonly heard: boolean; readonly waitMs: number };

/** One request, from its start until it ends. `heard` says that the stream was alive in between. */
async function readOnce(
  options: EventStreamOptions,
  parser: SseParser,
  closed: AbortSignal,
): Promise<End> {
  const watchdog = createWatchdog(options.silenceMs ?? SILENCE_MS);
  let heard = false;
  try {
    const response = await fetch(options.url, {
      headers: requestHeaders(parser.lastEventId),
      cache: "no-store",
      signal: AbortSignal.any([closed, watchdog.signal]),
    });
    if (!response.ok) return await endOfRefusal(response);
    if (response.body === null || !isEventStream(response)) {
      return { kind: "refused", problem: unexpectedAnswer(response.headers.get(CORRELATION)) };
    }
    options.onState("live");
    await readChunks(response.body, (chunk) => {
      heard = true;
      watchdog.feed();
      for (const event of parser.push(chunk)) deliver(event, options.onEvent);
    });
  } catch {
    // The network broke, or the watchdog did: both end in another try.
  } finally {
    watchdog.stop();
  }
  return { kind: "broken", heard, waitMs: 0 };
}

async function readChunks(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (chunk: string) => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    take(value);
  }
}

/** A listener's mistake is reported as such; it does not break the stream. */
function deliver(event: StreamEvent, listener: (event: StreamEvent) => void): void {
  try {
    listener(event);
  } catch (mistake) {
    reportError(mistake);
  }
}

function isEventStream(response: Response): boolean {
  return (response.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
}

function requestHeaders(lastEventId: string): Headers {
  const headers = new Headers({
    Accept: "text/event-stream",
    [CORRELATION]: newId("web_"),
  });
  if (lastEventId !== "") headers.set("Last-Event-ID", lastEventId);
  return headers;
}

const WORTH_ANOTHER_TRY = new Set([408, 425, 429]);

async function endOfRefusal(response: Response): Promise<End> {
  const body: unknown = await response.json().catch(() => null);
  const problem = problemFromAnswer(response, body);
  if (response.status >= 500 || WORTH_ANOTHER_TRY.has(response.status)) {
    return { kind: "broken", heard: false, waitMs: (problem.retryAfterSeconds ?? 0) * 1000 };
  }
  return { kind: "refused", problem };
}

/** Aborts its signal when it is not fed in time. */
function createWatchdog(silenceMs: number) {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), silenceMs);
  return {
    signal: silent.signal,
    feed() {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), silenceMs);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Waits, but no longer than until the browser is back on the network or the stream is closed. */
function pause(delayMs: number, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      closed.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    window.addEventListener("online", done);
    closed.addEventListener("abort", done);
  });
}
