/** Operations as a list: of an instance, of a project, of a group. */

import Link from "@cloudscape-design/components/link";
import type { ReactNode } from "react";
import type { Manifest, Operation } from "../api/contract.ts";
import type { LiveList } from "../live/use-list.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { Elapsed, Moment } from "./moment.tsx";
import { Status } from "./status.tsx";
import { sentence, shortId } from "./words.ts";

interface OperationTableProps {
  readonly list: LiveList<Operation>;
  readonly manifest?: Manifest | null;
  readonly title?: string;
  readonly withInstance?: boolean;
  readonly filters?: ReactNode;
}

export function OperationTable({
  list,
  manifest = null,
  title = "Operations",
  withInstance = false,
  filters,
}: OperationTableProps) {
  return (
    <DataTable
      name="operations"
      title={title}
      list={list}
      idOf={({ id }) => id}
      columns={columns(manifest, withInstance)}
      sortedBy="-requested"
      {...(filters === undefined ? {} : { filters })}
      empty={<Empty title="No operation">Everything that is asked of an app is listed here.</Empty>}
    />
  );
}

function columns(manifest: Manifest | null, withInstance: boolean): readonly Column<Operation>[] {
  const title = (kind: string) =>
    manifest?.operations.find((spec) => spec.kind === kind)?.title ?? sentence(kind);
  return [
    {
      id: "kind",
      header: "Operation",
      cell: ({ id, kind }) => <Link href={`/operations/${id}`}>{title(kind)}</Link>,
      value: ({ kind, id }) => `${title(kind)} ${id}`,
      rowHeader: true,
    },
    {
      id: "status",
      header: "Status",
      cell: ({ status }) => <Status word={status} work />,
      value: ({ status }) => status,
    },
    ...(withInstance
      ? [
          {
            id: "instance",
            header: "Instance",
            cell: ({ instance_id, app_slug }: Operation) => (
              <Link
                href={`/instances/${instance_id}`}
              >{`${app_slug} ${shortId(instance_id)}`}</Link>
            ),
            value: ({ instance_id, app_slug }: Operation) => `${app_slug} ${instance_id}`,
          },
        ]
      : []),
    {
      id: "step",
      header: "Step",
      cell: (operation) => lastStep(operation),
      value: (operation) => lastStep(operation),
    },
    {
      id: "took",
      header: "Took",
      cell: ({ requested_at, ended_at }) => <Elapsed from={requested_at} to={ended_at} />,
      value: ({ requested_at, ended_at }) =>
        (ended_at === null ? Date.now() : Date.parse(ended_at)) - Date.parse(requested_at),
    },
    {
      id: "requested",
      header: "Asked for",
      cell: ({ requested_at }) => <Moment at={requested_at} />,
      value: ({ requested_at }) => requested_at,
    },
    {
      id: "by",
      header: "By",
      cell: ({ requested_by }) => requested_by,
      value: (one) => one.requested_by,
    },
  ];
}

function lastStep({ progress, error, status }: Operation): string | null {
  if (error !== null && status === "failed") return error.message;
  const last = progress.findLast(({ state }) => state !== "pending");
  return last === undefined ? null : sentence(last.name);
}
