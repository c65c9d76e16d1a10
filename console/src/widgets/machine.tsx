/** The machine of an allocation, by the name people gave it; by its id until that was read, and for whoever
 * may not read it. */

import Link from "@cloudscape-design/components/link";
import { api, call } from "../api/client.ts";
import type { Allocation } from "../api/contract.ts";
import { rowOf } from "../live/use-list.ts";
import { useLive } from "../live/use-live.ts";

export function Machine({ allocationId }: { readonly allocationId: string }) {
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
  return <Link href={`/allocations/${allocationId}`}>{value?.name || allocationId}</Link>;
}
