/** Which machine an operation is about: the one that comes, where another one goes. Pure. Of a member that is not
 * among those that were read, as one that is gone, only its id is known: it is called by its name. */

import type { Member, Operation } from "../api/contract.ts";
import { type Machine, machineName } from "../forms/use-offers.ts";

export interface OnMachine {
  readonly allocationId: string;
  readonly name: string;
}

/** Where an operation is about a member of which no more is known. */
export interface OnMember {
  readonly memberId: string;
}

/** Null for one of the instance as a whole, and while its members are being read. */
export function machineOf(
  { member_id, new_member_id }: Operation,
  members: readonly Member[] | null,
  machines: readonly Machine[],
): OnMachine | OnMember | null {
  const wanted = new_member_id ?? member_id;
  if (wanted === null || members === null) return null;
  const member = members.find(({ id }) => id === wanted);
  if (member === undefined) return { memberId: wanted };
  const { allocation_id: allocationId, node } = member;
  const name = machineName(machines, allocationId);
  return { allocationId, name: name === allocationId ? node || name : name };
}
