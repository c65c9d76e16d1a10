/** How the console stands with the platform. Every live reader (a poller, an event stream) reports
 * here under its own name; the top bar shows the worst of them. Nothing reported means nothing is
 * being watched, and then nothing is claimed. */

import { createStore, type Store } from "./store.ts";

export type ConnectionState = "live" | "reconnecting" | "offline";

const FROM_WORST: readonly ConnectionState[] = ["offline", "reconnecting", "live"];
/** Failures in a row after which a reader no longer calls itself "reconnecting". */
const OFFLINE_AFTER = 3;

const reports = new Map<string, ConnectionState>();

export const connection: Store<ConnectionState | null> = createStore<ConnectionState | null>(null);

export function connectionReport(source: string, state: ConnectionState): void {
  reports.set(source, state);
  connection.set(worst());
}

export function connectionForget(source: string): void {
  reports.delete(source);
  connection.set(worst());
}

/** What a reader is after so many failures in a row. */
export function stateAfterFailures(failures: number): ConnectionState {
  return failures >= OFFLINE_AFTER || !navigator.onLine ? "offline" : "reconnecting";
}

function worst(): ConnectionState | null {
  const states = [...reports.values()];
  return FROM_WORST.find((state) => states.includes(state)) ?? null;
}
