/** Operations asked for together: the whole, and each, which succeeds or fails on its own. */

import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, call } from "../../api/client.ts";
import type { Operation, Schemas } from "../../api/contract.ts";
import { placeOf, useProjectOf } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { useMachines } from "../../forms/use-offers.ts";
import { wholeList } from "../../live/use-list.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { membersOf } from "../../widgets/instance-reads.ts";
import { machineOf, type OnMachine, type OnMember } from "../../widgets/operation-machine.ts";
import { OperationTable } from "../../widgets/operation-table.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { sentence } from "../../widgets/words.ts";

export default function OperationGroupPage({ params }: PageProps) {
  const id = params.group_id ?? "";
  const group: Live<Schemas["OperationGroup"]> = useLive(
    `group:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/operation-groups/{group_id}", {
          params: { path: { group_id: id } },
          signal,
        }),
      ),
    { on: ({ appinstanceid }) => appinstanceid === group.value?.instance_id },
  );
  useProjectOf(group.value);
  return (
    <Page title={group.value === null ? "Operations" : `${sentence(group.value.kind)}, together`}>
      <Loaded live={group}>{(found) => <Group group={found} />}</Loaded>
    </Page>
  );
}

const ENDED = ["succeeded", "failed", "cancelled", "abandoned"] as const;

function Group({ group }: { readonly group: Schemas["OperationGroup"] }) {
  const { operations, counts, parallelism, instance_id } = group;
  const onMachine = useMachinesOf(group);
  const done = ENDED.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  return (
    <SpaceBetween size="l">
      <Container>
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Status", value: <Status word={group.status} /> },
            { label: "Instance", value: <Thing id={instance_id} /> },
            { label: "At a time", value: parallelism },
            {
              label: "Each",
              value: Object.entries(counts)
                .filter(([, number]) => Number(number) > 0)
                .map(([status, number]) => `${number} ${status}`)
                .join(", "),
            },
          ]}
        />
        <ProgressBar
          label="Ended"
          value={operations.length === 0 ? 0 : (done / operations.length) * 100}
          additionalInfo={`${done} of ${operations.length}`}
          ariaLabel="How many have ended"
        />
      </Container>
      <OperationTable list={wholeList(operations)} onMachine={onMachine} />
    </SpaceBetween>
  );
}

/** Which machine each operation of a group is about. */
function useMachinesOf(
  group: Schemas["OperationGroup"],
): (operation: Operation) => OnMachine | OnMember | null {
  const machines = useMachines(placeOf(group), true).value ?? [];
  const members = useLive(...membersOf(group.instance_id, true));
  const read = members.loading ? null : (members.value ?? []);
  return (operation) => machineOf(operation, read, machines);
}
