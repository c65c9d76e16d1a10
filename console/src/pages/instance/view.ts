/** What every tab of the page of an instance gets. */

import type { AppInstance, Manifest, Member, Operation } from "../../api/contract.ts";
import type { Machine } from "../../forms/use-offers.ts";
import type { LiveList } from "../../live/use-list.ts";
import type { Asking } from "./actions.tsx";

export interface InstanceTabProps {
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly manifest: Manifest | null;
  readonly operations: LiveList<Operation>;
  /** What the project holds: the machines under the members are among them. */
  readonly machines: readonly Machine[];
  readonly onAsk: (asking: Asking) => void;
}

/** What people call the machine of an allocation; its id where nobody may read the name. */
export function machineName(machines: readonly Machine[], allocationId: string): string {
  return (
    machines.find(({ allocation }) => allocation.id === allocationId)?.allocation.name ??
    allocationId
  );
}
