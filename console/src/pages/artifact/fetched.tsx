/** Which machines were let fetch an artifact, and whether they have. */

import Link from "@cloudscape-design/components/link";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useList } from "../../live/use-list.ts";
import { concernsArtifacts } from "../../widgets/artifacts.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { findable } from "../../widgets/named.tsx";
import { Thing } from "../../widgets/thing.tsx";

type Delivery = Schemas["ArtifactDelivery"];

export function Fetched({ artifactId }: { readonly artifactId: string }) {
  const list = useList(
    `artifact-deliveries:${artifactId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/artifact-deliveries", {
          params: { query: { ...pageQuery(cursor), artifact_id: artifactId } },
          signal,
        }),
      ),
    { on: concernsArtifacts },
  );
  return (
    <DataTable
      name="deliveries"
      title="Machines that fetched it"
      list={list}
      idOf={({ id }) => id}
      columns={COLUMNS}
      empty={<Empty title="No machine has asked for it" />}
    />
  );
}

const COLUMNS: readonly Column<Delivery>[] = [
  {
    id: "allocation",
    header: "Machine",
    cell: ({ allocation_id }) => <Thing id={allocation_id} />,
    value: ({ allocation_id }) => findable(allocation_id),
    rowHeader: true,
  },
  {
    id: "purpose",
    header: "For",
    cell: ({ purpose }) => purpose || null,
    value: (one) => one.purpose,
  },
  {
    id: "asked",
    header: "Asked for",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
  {
    id: "finished",
    header: "Fetched",
    cell: ({ finished_at }) => finished_at && <Moment at={finished_at} />,
    value: (one) => one.finished_at,
  },
  {
    id: "correlation",
    header: "Correlation id",
    cell: ({ correlation_id }) => (
      <Link href={`/correlations/${encodeURIComponent(correlation_id)}`}>{correlation_id}</Link>
    ),
    value: (one) => one.correlation_id,
  },
];
