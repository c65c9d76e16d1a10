/** The one stream of the platform's events the console keeps open, and who listens to it. Opened by
 * app/follow-events.ts for the place that is looked at; pages listen through use-live.ts.
 *
 * An event is a hint to read again. `refresh` is the hint that anything may have changed: the stream
 * was opened anew, something between was lost, or somebody signed in again. */

import type { CloudEvent } from "../api/contract.ts";
import type { Problem } from "../api/problem.ts";
import { connectionForget, connectionReport } from "./connection.ts";
import { openEventStream } from "./event-stream.ts";
import type { StreamEvent } from "./sse-parser.ts";

type EventListener = (event: CloudEvent) => void;

const SOURCE = "events";
const GAP = "stream.gap";
const listeners = new Set<EventListener>();
const refreshers = new Set<() => void>();
let hints = 0;

/** Calls `listener` for every event. Returns the way to stop. */
export function onPlatformEvent(listener: EventListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls `reread` whenever anything may have changed. Returns the way to stop. */
export function onRefresh(reread: () => void): () => void {
  refreshers.add(reread);
  return () => refreshers.delete(reread);
}

/** How many hints there have been: whoever was not listening yet sees whether one was missed. */
export function hintsSoFar(): number {
  return hints;
}

/** Tells every live reader to read again. */
export function refresh(): void {
  hints += 1;
  for (const reread of [...refreshers]) reread();
}

/** Follows the events that match `query`. Returns the way to stop. */
export function followEvents(query: string, onRefused: (problem: Problem) => void): () => void {
  let opened = false;
  const close = openEventStream({
    url: `/api/v1/events/stream${query}`,
    onEvent: dispatch,
    onState(state) {
      connectionReport(SOURCE, state);
      if (state === "live" && !opened) {
        opened = true;
        refresh();
      }
    },
    onRefused(problem) {
      connectionForget(SOURCE);
      onRefused(problem);
    },
  });
  return () => {
    close();
    connectionForget(SOURCE);
  };
}

function dispatch({ type, data }: StreamEvent): void {
  if (type === GAP) {
    refresh();
    return;
  }
  const event = parsed(data);
  if (event === null) return;
  hints += 1;
  for (const listener of [...listeners]) listener(event);
}

function parsed(data: string): CloudEvent | null {
  try {
    return JSON.parse(data) as CloudEvent;
  } catch {
    return null;
  }
}
