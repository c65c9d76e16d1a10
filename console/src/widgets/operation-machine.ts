/** Which machine an operation is about: the one that comes, where another one goes. Pure. */

import type { Member, Operation } from "../api/contract.ts";
import { type Machine, machineName } from "../forms/use-offers.ts";

export interface OnMachine {
  readonly allocationId: string;
  readonly name: string;
}

/** Null for one of the instance as a whole, and until its member was read. */
export function machineOf(
  { member_id, new_member_id }: Operation,
  members: readonly Member[],
  machines: readonly Machine[],
): OnMachine | null {
  const wanted = new_member_id ?? member_id;
  const member = members.find(({ id }) => id === wanted);
  if (member === undefined) return null;
  const { allocation_id: allocationId, node } = member;
  const name = machineName(machines, allocationId);
  return { allocationId, name: name === allocationId ? node || name : name };
}
