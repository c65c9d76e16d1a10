/** What lists ask for when they want what is there, and not all that ever was. A state that the contract comes to
 * have, and that is missing here, is an error of the compiler: nothing disappears from a list unnoticed. */

import type { Allocation, AppInstance, Operation } from "./contract.ts";

/** Instances that are not deleted. */
export const LIVING = all<Exclude<AppInstance["status"], "deleted">>({
  requested: true,
  deploying: true,
  running: true,
  degraded: true,
  stopping: true,
  stopped: true,
  starting: true,
  upgrading: true,
  rolling_back: true,
  failed: true,
  deleting: true,
  cleanup_blocked: true,
});

/** Allocations that are not given back. */
export const HELD = all<Exclude<Allocation["status"], "released">>({
  requested: true,
  provisioning: true,
  active: true,
  releasing: true,
  failed: true,
  cleanup_blocked: true,
});

/** Operations that have not ended. */
export const UNDER_WAY = all<
  Exclude<Operation["status"], "succeeded" | "failed" | "cancelled" | "abandoned">
>({ requested: true, accepted: true, running: true });

function all<T extends string>(states: Readonly<Record<T, true>>): T[] {
  return Object.keys(states) as T[];
}
