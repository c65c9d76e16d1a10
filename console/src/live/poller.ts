/** Reads something again and again and says how fresh it is. For what has no events; used through
 * use-polling.ts. It keeps the last value when a read fails (unreachable is not gone), backs off
 * while the platform does not answer, rests while the page is hidden, and reads at once when the
 * page or the network comes back. */

import { Problem, problemFromFailure } from "../api/problem.ts";
import { backoffDelay } from "./backoff.ts";
import { type ConnectionState, stateAfterFailures } from "./connection.ts";
import { released } from "./press.ts";

export interface Reading<T> {
  /** The last value read, however old. */
  readonly value: T | null;
  /** When it was read, in milliseconds since the epoch. */
  readonly readAt: number | null;
  /** Why the latest read failed; null when it did not. */
  readonly problem: Problem | null;
  /** Null until the first read has ended. */
  readonly connection: ConnectionState | null;
  /** When the next try comes, while the platform does not answer. */
  readonly retryAt: number | null;
}

export interface PollerOptions<T> {
  readonly read: (signal: AbortSignal) => Promise<T>;
  readonly intervalMs: number;
  readonly onReading: (reading: Reading<T>) => void;
  /** What was read before. */
  readonly last?: Reading<T>;
}

export interface Poller {
  readNow(): void;
  stop(): void;
}

export const NOTHING_READ: Reading<never> = {
  value: null,
  readAt: null,
  problem: null,
  connection: null,
  retryAt: null,
};

/** How long one read may take. */
export const PATIENCE_MS = 10_000;

export function startPoller<T>({
  read,
  intervalMs,
  onReading,
  last = NOTHING_READ,
}: PollerOptions<T>): Poller {
  let reading = last;
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: AbortController | null = null;

  async function readOnce(): Promise<void> {
    clearTimeout(timer);
    running?.abort();
    const current = new AbortController();
    running = current;
    const outcome = await attempt(read, current.signal);
    await released();
    if (current.signal.aborted) return;
    // To cut off what is over is dear: the browser makes an error for it, with all that led there.
    running = null;
    failures = outcome instanceof Problem && outcome.unreachable ? failures + 1 : 0;
    const delayMs = failures > 0 ? backoffDelay(failures) : intervalMs;
    reading = nextReading(reading, outcome, failures, delayMs);
    onReading(reading);
    if (!document.hidden) timer = setTimeout(readNow, delayMs);
  }

  function readNow(): void {
    void readOnce();
  }

  function onVisibility(): void {
    if (document.hidden) clearTimeout(timer);
    else readNow();
  }

  document.addEventListener("visibilitychange", onVisibility);
  window.addEventListener("online", readNow);
  window.addEventListener("offline", readNow);
  readNow();
  return {
    readNow,
    stop() {
      clearTimeout(timer);
      running?.abort();
      document.removeEventListener("visibilitychange", onVisibility);
      window.removeEventListener("online", readNow);
      window.removeEventListener("offline", readNow);
    },
  };
}

async function attempt<T>(
  read: (signal: AbortSignal) => Promise<T>,
  stopped: AbortSignal,
): Promise<{ value: T } | Problem> {
  try {
    return { value: await read(AbortSignal.any([stopped, AbortSignal.timeout(PATIENCE_MS)])) };
  } catch (thrown) {
    // A body that was cut off, by us or by the clock, throws what the browser throws.
    const cut = stopped.aborted || thrown instanceof DOMException;
    if (cut || thrown instanceof Problem) return problemFromFailure(thrown, null);
    throw thrown;
  }
}

function nextReading<T>(
  last: Reading<T>,
  outcome: { value: T } | Problem,
  failures: number,
  delayMs: number,
): Reading<T> {
  const now = Date.now();
  if (!(outcome instanceof Problem)) {
    return { value: outcome.value, readAt: now, problem: null, connection: "live", retryAt: null };
  }
  if (failures === 0) return { ...last, problem: outcome, connection: "live", retryAt: null };
  return {
    ...last,
    problem: outcome,
    connection: stateAfterFailures(failures),
    retryAt: now + delayMs,
  };
}
