/** What every tab of the page of an instance gets. */

import type { AppInstance, Manifest, Member, Operation } from "../../api/contract.ts";
import type { LiveList } from "../../live/use-list.ts";
import type { Asking } from "./actions.tsx";

export interface InstanceTabProps {
  readonly instance: AppInstance;
  readonly members: readonly Member[];
  readonly manifest: Manifest | null;
  readonly operations: LiveList<Operation>;
  readonly onAsk: (asking: Asking) => void;
}
