/** Artifacts in reach, or those of one source: what each is, how it stands, how far it is trusted. */

import Link from "@cloudscape-design/components/link";
import Select from "@cloudscape-design/components/select";
import type { ReactNode } from "react";
import { api, call } from "../api/client.ts";
import type { CloudEvent, Schemas } from "../api/contract.ts";
import { pageQuery } from "../api/pages.ts";
import { useQuery } from "../app/router.tsx";
import { useList } from "../live/use-list.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { Moment } from "./moment.tsx";
import { Status } from "./status.tsx";
import { bytes, sentence } from "./words.ts";

type Artifact = Schemas["Artifact"];

interface ArtifactTableProps {
  readonly sourceId?: string;
  readonly actions?: ReactNode;
}

const STATES: readonly Artifact["status"][] = [
  "promoted",
  "published",
  "deprecated",
  "intended",
  "ingesting",
  "failed",
  "retired",
];
const ALL = { value: "", label: "In every state" };

export function ArtifactTable({ sourceId, actions }: ArtifactTableProps) {
  const [wanted, setWanted] = useQuery("status");
  const status = STATES.find((one) => one === wanted);
  const list = useList(
    `artifacts:${sourceId ?? ""}:${status ?? ""}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/artifacts", {
          params: {
            query: {
              ...pageQuery(cursor),
              ...(sourceId === undefined ? {} : { source_id: sourceId }),
              ...(status === undefined ? {} : { status }),
            },
          },
          signal,
        }),
      ),
    { on: concernsArtifacts, everyMs: 10_000 },
  );
  const columns = COLUMNS.filter(({ id }) => sourceId === undefined || id !== "source");
  return (
    <DataTable
      name="artifacts"
      title="Artifacts"
      list={list}
      idOf={({ id }) => id}
      columns={columns}
      actions={actions}
      filters={
        <Select
          ariaLabel="In which state"
          options={[ALL, ...STATES.map((value) => ({ value, label: sentence(value) }))]}
          selectedOption={status === undefined ? ALL : { value: status, label: sentence(status) }}
          onChange={({ detail }) => setWanted(detail.selectedOption.value ?? "")}
        />
      }
      widen={status === undefined ? null : () => setWanted("")}
      empty={
        <Empty title="No artifact">
          What apps install on machines is published to a source, by its digest, and never changes.
        </Empty>
      }
    />
  );
}

export function concernsArtifacts({ type }: CloudEvent): boolean {
  return type.startsWith("artifacts.");
}

const COLUMNS: readonly Column<Artifact>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, name }) => <Link href={`/artifacts/${id}`}>{name}</Link>,
    value: (one) => one.name,
    rowHeader: true,
  },
  { id: "version", header: "Version", cell: ({ version }) => version, value: (one) => one.version },
  {
    id: "platform",
    header: "For",
    cell: ({ platform }) => platform,
    value: (one) => one.platform,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: (one) => one.status,
  },
  {
    id: "trust",
    header: "Trust",
    cell: ({ trust }) => <Status word={trust} />,
    value: (one) => one.trust,
  },
  {
    id: "channels",
    header: "Channels",
    cell: ({ channels }) => channels.join(", ") || null,
    value: ({ channels }) => channels.join(" "),
  },
  {
    id: "source",
    header: "Source",
    cell: ({ source_id, source_address }) => (
      <Link href={`/artifact-sources/${source_id}`}>{source_address}</Link>
    ),
    value: (one) => one.source_address,
  },
  {
    id: "size",
    header: "Size",
    cell: ({ size }) => (size === null ? null : bytes(size)),
    value: (one) => one.size,
  },
  {
    id: "since",
    header: "Published",
    cell: ({ published_at }) => published_at && <Moment at={published_at} />,
    value: (one) => one.published_at,
  },
];
