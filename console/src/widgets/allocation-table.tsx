/** Allocations as a list: state, kind, owner, what sits on them. */

import Box from "@cloudscape-design/components/box";
import Link from "@cloudscape-design/components/link";
import type { ReactNode } from "react";
import type { Allocation } from "../api/contract.ts";
import type { Machine } from "../forms/use-offers.ts";
import type { LiveList } from "../live/use-list.ts";
import { money, skuText } from "../manifest/price.ts";
import { Copy } from "./copy.tsx";
import { type Column, DataTable } from "./data-table.tsx";
import { Moment } from "./moment.tsx";
import { findable } from "./named.tsx";
import { Prose } from "./prose.tsx";
import { Status } from "./status.tsx";
import { Thing } from "./thing.tsx";

interface AllocationTableProps {
  readonly list: LiveList<Machine>;
  readonly actions?: ReactNode;
  readonly filters?: ReactNode;
  readonly empty: ReactNode;
}

export function AllocationTable(props: AllocationTableProps) {
  const { list, actions, filters, empty } = props;
  return (
    <DataTable
      name="allocations"
      title="Allocations"
      list={list}
      idOf={({ allocation }) => allocation.id}
      columns={COLUMNS}
      sortedBy="name"
      actions={actions}
      filters={filters}
      empty={empty}
    />
  );
}

const COLUMNS: readonly Column<Machine>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ allocation }) => <Link href={`/allocations/${allocation.id}`}>{allocation.name}</Link>,
    value: ({ allocation }) => `${allocation.name} ${allocation.id}`,
    rowHeader: true,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ allocation }) => <AllocationStatus allocation={allocation} />,
    value: ({ allocation }) => allocation.status,
  },
  {
    id: "kind",
    header: "Kind",
    cell: ({ allocation, sku }) => (
      <>
        {allocation.sku}
        {sku !== null && <Box color="text-body-secondary">{skuText(sku)}</Box>}
      </>
    ),
    value: ({ allocation, sku }) => `${allocation.sku} ${sku?.gpu_model ?? ""}`,
    minWidth: 180,
  },
  {
    id: "region",
    header: "Region",
    cell: ({ allocation }) => allocation.region,
    value: ({ allocation }) => allocation.region,
    minWidth: 100,
  },
  {
    id: "used",
    header: "Used by",
    cell: ({ allocation: { bound_instance_id } }) =>
      bound_instance_id ? <Thing id={bound_instance_id} /> : "Free",
    value: ({ allocation: { bound_instance_id } }) =>
      bound_instance_id ? findable(bound_instance_id) : "free",
  },
  {
    id: "address",
    header: "Address",
    cell: ({ allocation: { address } }) => address && <Copy text={address} what="the address" />,
    value: ({ allocation }) => allocation.address,
    minWidth: 160,
  },
  {
    id: "price",
    header: "Per hour",
    cell: ({ sku }) => sku && money(Number(sku.price_per_hour), sku.currency),
    value: ({ sku }) => Number(sku?.price_per_hour ?? 0),
    minWidth: 100,
  },
  {
    id: "created",
    header: "Since",
    cell: ({ allocation }) => <Moment at={allocation.created_at} />,
    value: ({ allocation }) => allocation.created_at,
    minWidth: 100,
  },
];

export function AllocationStatus({ allocation }: { readonly allocation: Allocation }) {
  return (
    <>
      <Status word={allocation.status} />
      {(allocation.conditions ?? []).map(({ type }) => (
        <div key={type}>
          <Status word={type} />
        </div>
      ))}
      {allocation.status_reason && (
        <Box color="text-body-secondary" fontSize="body-s">
          <Prose>{allocation.status_reason}</Prose>
        </Box>
      )}
    </>
  );
}
