/** Which failed operations still stand, that is: nothing was done about them, and what they were about is not
 * well. Pure; for the page of an instance and for what needs attention. */

import type { AppInstance, Member, Operation } from "../api/contract.ts";

/** Words for a state that nobody leaves as it is. */
export const TROUBLED: ReadonlySet<string> = new Set([
  "failed",
  "degraded",
  "cleanup_blocked",
  "unreachable",
]);

/** The last that was asked of the whole, and of each member that is not well: once a later one was asked for, or
 * the member is well again, a failure is history. */
export function failuresStanding(
  operations: readonly Operation[],
  instances: readonly AppInstance[],
  members: readonly Member[],
): readonly Operation[] {
  const unwell = members.filter(({ status }) => TROUBLED.has(status));
  const last = new Set([...instances, ...unwell].map(({ last_operation_id }) => last_operation_id));
  return operations.filter(({ id, status }) => status === "failed" && last.has(id));
}

/** Whether all that is wrong with an instance is what failed: named by itself, that leads to the way out. */
export function explained(instance: AppInstance, standing: readonly Operation[]): boolean {
  const { conditions, last_operation_id } = instance;
  return (
    conditions.length > 0 &&
    conditions.every(({ type }) => type === "operation_failed") &&
    standing.some(({ id }) => id === last_operation_id)
  );
}
