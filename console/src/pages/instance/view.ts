/** What every tab of the page of an instance gets, and the order its members stand in. */

import type { AppInstance, Manifest, Member, Operation } from "../../api/contract.ts";
import type { Machine } from "../../forms/use-offers.ts";
import type { LiveList } from "../../live/use-list.ts";
import type { Asking } from "./actions.tsx";

export interface InstanceTabProps {
  readonly instance: AppInstance;
  /** None where they could not be read. */
  readonly members: readonly Member[];
  readonly membersKnown: boolean;
  readonly manifest: Manifest | null;
  readonly operations: LiveList<Operation>;
  /** What the project holds: the machines under the members are among them. */
  readonly machines: readonly Machine[];
  /** Members, operations or machines are not read yet: what stands of them is empty. */
  readonly reading: boolean;
  readonly onAsk: (asking: Asking) => void;
}

/** Those that are there, in the manifest's order of components, each by the name of its machine. */
export function inOrder(
  members: readonly Member[],
  manifest: Manifest | null,
  nameOf: (allocationId: string) => string,
): readonly Member[] {
  const rank = new Map(manifest?.components.map(({ key }, at) => [key, at]));
  const place = ({ component_key }: Member) => rank.get(component_key) ?? rank.size;
  const name = ({ node, allocation_id }: Member) => node || nameOf(allocation_id);
  return members
    .filter(({ status }) => status !== "removed")
    .sort(
      (one, other) =>
        place(one) - place(other) ||
        name(one).localeCompare(name(other), undefined, { numeric: true }),
    );
}
