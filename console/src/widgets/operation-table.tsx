/** Operations as a list: of an instance, of a project, of a group. */

import Box from "@cloudscape-design/components/box";
import Link from "@cloudscape-design/components/link";
import type { ReactNode } from "react";
import type { Manifest, Operation, OperationSpec } from "../api/contract.ts";
import type { LiveList } from "../live/use-list.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { failureText } from "./failure-text.ts";
import { Elapsed, Moment } from "./moment.tsx";
import { findable, Named } from "./named.tsx";
import type { OnMachine, OnMember } from "./operation-machine.ts";
import { stepTitle } from "./operation-steps.tsx";
import { Prose } from "./prose.tsx";
import { Status } from "./status.tsx";
import { Thing } from "./thing.tsx";
import { sentence } from "./words.ts";

interface OperationTableProps {
  readonly list: LiveList<Operation>;
  readonly manifest?: Manifest | null;
  readonly title?: string;
  /** They are of more than one instance. */
  readonly mixed?: boolean;
  /** Where operations are about machines: which; null for one of the whole. */
  readonly onMachine?: (operation: Operation) => OnMachine | OnMember | null;
  readonly filters?: ReactNode;
  /** Takes those off, while one is on. */
  readonly widen?: (() => void) | null;
}

export function OperationTable({
  list,
  manifest = null,
  title = "Operations",
  mixed = false,
  onMachine,
  filters,
  widen = null,
}: OperationTableProps) {
  return (
    <DataTable
      name="operations"
      title={title}
      list={list}
      idOf={({ id }) => id}
      columns={columns(manifest, mixed, onMachine)}
      sortedBy="-requested"
      filters={filters}
      widen={widen}
      empty={<Empty title="No operation">Everything that is asked of an app is listed here.</Empty>}
    />
  );
}

function columns(
  manifest: Manifest | null,
  mixed: boolean,
  onMachine: OperationTableProps["onMachine"],
): readonly Column<Operation>[] {
  const specOf = (kind: string) => manifest?.operations.find((spec) => spec.kind === kind) ?? null;
  const title = (kind: string) => specOf(kind)?.title ?? sentence(kind);
  const step = (operation: Operation) => lastStep(operation, specOf(operation.kind));
  return [
    {
      id: "kind",
      header: "Operation",
      cell: ({ id, kind }) => <Link href={`/operations/${id}`}>{title(kind)}</Link>,
      value: ({ kind, id }) => `${title(kind)} ${id}`,
      rowHeader: true,
      minWidth: 110,
    },
    {
      id: "status",
      header: "Status",
      cell: ({ status }) => <Status word={status} work />,
      value: ({ status }) => status,
      minWidth: 140,
    },
    ...(mixed ? [INSTANCE] : []),
    ...(onMachine === undefined ? [] : [machineColumn(onMachine)]),
    {
      id: "step",
      header: "Step",
      cell: (operation) => told(step(operation)),
      value: step,
      minWidth: 200,
    },
    {
      id: "took",
      header: "Took",
      cell: ({ requested_at, ended_at }) => <Elapsed from={requested_at} to={ended_at} />,
      value: ({ requested_at, ended_at }) =>
        (ended_at === null ? Date.now() : Date.parse(ended_at)) - Date.parse(requested_at),
      minWidth: 90,
    },
    {
      id: "requested",
      header: "Asked for",
      cell: ({ requested_at }) => <Moment at={requested_at} />,
      value: ({ requested_at }) => requested_at,
      minWidth: 110,
    },
    {
      id: "by",
      header: "By",
      cell: ({ requested_by }) => <Thing id={requested_by} />,
      value: ({ requested_by }) => findable(requested_by),
      minWidth: 110,
    },
  ];
}

const INSTANCE: Column<Operation> = {
  id: "instance",
  header: "Instance",
  cell: ({ instance_id, app_slug }) => (
    <>
      <Thing id={instance_id} />
      <Box color="text-body-secondary">{app_slug}</Box>
    </>
  ),
  value: ({ instance_id, app_slug }) => `${findable(instance_id)} ${app_slug}`,
};

function machineColumn(on: NonNullable<OperationTableProps["onMachine"]>): Column<Operation> {
  return {
    id: "machine",
    header: "Machine",
    cell: (operation) => {
      const found = on(operation);
      if (found === null) return null;
      if ("memberId" in found) return <Named id={found.memberId} />;
      return <Thing id={found.allocationId}>{found.name}</Thing>;
    },
    value: (operation) => {
      const found = on(operation);
      return found && ("memberId" in found ? findable(found.memberId) : found.name);
    },
  };
}

function told(text: string | null): ReactNode {
  return text && <Prose>{text}</Prose>;
}

function lastStep(
  { progress, error, status }: Operation,
  spec: OperationSpec | null,
): string | null {
  if (error !== null && status === "failed") return failureText(error);
  const last = progress.findLast(({ state }) => state !== "pending");
  return last === undefined ? null : stepTitle(last.name, spec);
}
