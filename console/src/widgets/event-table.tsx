/** Events as they happen: the newest first, new ones on top while one looks. */

import Link from "@cloudscape-design/components/link";
import { api, call } from "../api/client.ts";
import type { CloudEvent } from "../api/contract.ts";
import { FEW, pageQuery } from "../api/pages.ts";
import { useList } from "../live/use-list.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { Moment } from "./moment.tsx";
import { findable, Named } from "./named.tsx";
import { pageOf, Thing } from "./thing.tsx";

export interface EventQuery {
  readonly project_id?: string;
  readonly app_instance_id?: string;
  readonly type?: string[];
}

interface EventTableProps {
  readonly query: EventQuery;
  readonly title: string;
  /** Shows all again, where the query is narrower than what its page is about. */
  readonly widen?: (() => void) | null;
}

export function EventTable({ query, title, widen = null }: EventTableProps) {
  const events = useList(
    `events:${JSON.stringify(query)}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/events", {
          params: { query: { ...query, ...pageQuery(cursor, FEW) } },
          signal,
        }),
      ),
    { on: (event) => matches(event, query) },
  );
  return (
    <DataTable
      name="events"
      title={title}
      list={events}
      idOf={({ id }) => id}
      columns={COLUMNS}
      widen={widen}
      empty={<Empty title="Nothing has happened yet">What happens appears here by itself.</Empty>}
    />
  );
}

function matches(
  event: CloudEvent,
  { project_id, app_instance_id, type = [] }: EventQuery,
): boolean {
  if (project_id !== undefined && event.projectid !== project_id) return false;
  if (app_instance_id !== undefined && event.appinstanceid !== app_instance_id) return false;
  return type.length === 0 || type.some((prefix) => event.type.startsWith(prefix));
}

const COLUMNS: readonly Column<CloudEvent>[] = [
  {
    id: "time",
    header: "When",
    cell: ({ time }) => <Moment at={time} />,
    value: ({ time }) => time,
  },
  {
    id: "type",
    header: "What",
    cell: ({ type }) => <code>{type}</code>,
    value: ({ type }) => type,
    rowHeader: true,
  },
  {
    id: "subject",
    header: "Of what",
    cell: ({ subject, appinstanceid }) =>
      pageOf(subject) === null && appinstanceid ? (
        <span className="one-line">
          <Thing id={appinstanceid}>
            <Named id={subject} />
          </Thing>
        </span>
      ) : (
        <Thing id={subject} />
      ),
    value: ({ subject }) => findable(subject),
  },
  {
    id: "correlation",
    header: "Correlation id",
    cell: ({ correlationid }) => (
      <Link href={`/correlations/${encodeURIComponent(correlationid)}`}>{correlationid}</Link>
    ),
    value: ({ correlationid }) => correlationid,
  },
];
