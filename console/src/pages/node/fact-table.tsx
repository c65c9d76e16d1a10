/** Many of a kind that an agent found: disks, interfaces, GPUs. A field that has no column of its own gets one. */

import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Json, JsonObject } from "../../api/contract.ts";
import { wholeList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { JsonView } from "../../widgets/json-view.tsx";
import { sentence } from "../../widgets/words.ts";

export interface Field {
  readonly field: string;
  readonly header: string;
  /** What people read; what the agent says when left out. */
  readonly text?: (value: Json) => string | null;
}

interface FactTableProps {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  /** Null where the agent could not read them. */
  readonly rows: readonly JsonObject[] | null;
  readonly fields: readonly Field[];
  /** Stands in place of the table. */
  readonly instead?: string;
  readonly sortedBy?: string;
}

interface Row {
  readonly row: JsonObject;
  readonly at: number;
}

export function FactTable({ title, description = "", rows, instead, ...table }: FactTableProps) {
  const found = rows ?? [];
  const missing = instead ?? (rows === null ? "Not known: they could not be read." : "None.");
  return (
    <SpaceBetween size="xs">
      <Header
        variant="h3"
        counter={rows === null ? "" : `(${rows.length})`}
        description={description}
      >
        {title}
      </Header>
      {found.length === 0 ? (
        <Box color="text-body-secondary">{missing}</Box>
      ) : (
        <Rows title={title} rows={found} {...table} />
      )}
    </SpaceBetween>
  );
}

type RowsProps = Pick<FactTableProps, "name" | "title" | "fields" | "sortedBy"> & {
  readonly rows: readonly JsonObject[];
};

function Rows({ name, title, rows, fields, sortedBy = "" }: RowsProps) {
  const named = new Set(fields.map(({ field }) => field));
  const others = new Set(rows.flatMap((row) => Object.keys(row)).filter((key) => !named.has(key)));
  const all = [...fields, ...[...others].map((field) => ({ field, header: sentence(field) }))];
  return (
    <DataTable<Row>
      embedded
      name={name}
      title={title}
      list={wholeList(rows.map((row, at) => ({ row, at })))}
      idOf={({ at }) => `${at}`}
      columns={all.map(column)}
      sortedBy={sortedBy}
      empty={null}
    />
  );
}

function column({ field, header, text }: Field, at: number): Column<Row> {
  return {
    id: field,
    header,
    rowHeader: at === 0,
    minWidth: "auto",
    value: ({ row }) => comparable(row[field] ?? null, text),
    cell: ({ row }) => {
      const value = row[field] ?? null;
      if (value === null) return null;
      if (text !== undefined) return text(value);
      return typeof value === "object" ? <JsonView value={value} name={header} /> : String(value);
    },
  };
}

function comparable(value: Json, text: Field["text"]): string | number {
  if (typeof value === "number") return value;
  return text?.(value) ?? (typeof value === "string" ? value : JSON.stringify(value));
}
