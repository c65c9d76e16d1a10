/** The machine of an allocation, by the name people gave it; by its id, short, until that was read and for whoever
 * may not read it. */

import { api, call } from "../api/client.ts";
import type { Allocation } from "../api/contract.ts";
import { rowOf } from "../live/use-list.ts";
import { useLive } from "../live/use-live.ts";
import { Thing } from "./thing.tsx";
import { shortId } from "./words.ts";

interface MachineProps {
  readonly allocationId: string;
}

export function Machine({ allocationId }: MachineProps) {
  return (
    <Thing id={allocationId}>
      <MachineName allocationId={allocationId} />
    </Thing>
  );
}

/** Without the link. */
export function MachineName({ allocationId }: MachineProps) {
  const { value } = useLive(
    `machine:${allocationId}`,
    (signal) =>
      call(
        api.GET("/api/v1/allocations/{allocation_id}", {
          params: { path: { allocation_id: allocationId } },
          signal,
        }),
      ),
    { seed: () => rowOf<Allocation>("allocations", allocationId), later: true },
  );
  return <span title={allocationId}>{value?.name || shortId(allocationId)}</span>;
}
