/** Operations asked for together: the whole, and each, which succeeds or fails on its own. */

import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import type { PageProps } from "../../app/router.tsx";
import { wholeList } from "../../live/use-list.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { OperationTable } from "../../widgets/operation-table.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { sentence, shortId } from "../../widgets/words.ts";

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
  return (
    <Page title={group.value === null ? "Operations" : `${sentence(group.value.kind)}, together`}>
      <Loaded live={group}>{(found) => <Group group={found} />}</Loaded>
    </Page>
  );
}

const ENDED = ["succeeded", "failed", "cancelled", "abandoned"] as const;

function Group({ group }: { readonly group: Schemas["OperationGroup"] }) {
  const { operations, counts, parallelism, instance_id } = group;
  const done = ENDED.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  return (
    <SpaceBetween size="l">
      <Container>
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Status", value: <Status word={group.status} /> },
            {
              label: "Instance",
              value: <Link href={`/instances/${instance_id}`}>{shortId(instance_id)}</Link>,
            },
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
      <OperationTable list={wholeList(operations)} />
    </SpaceBetween>
  );
}
