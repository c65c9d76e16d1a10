/** The timeline of a correlation id: everything that carries it, in order. */

import { useState } from "react";
import { api, call } from "../api/client.ts";
import type { Schemas } from "../api/contract.ts";
import { known, type Live, type LiveArguments, useLive } from "../live/use-live.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { findable, isId } from "./named.tsx";
import { Prose } from "./prose.tsx";
import { Status } from "./status.tsx";
import { Thing } from "./thing.tsx";
import { exact, timeOfDay } from "./times.ts";
import { sentence } from "./words.ts";

export type Timeline = Schemas["Timeline"];
type Entry = Schemas["TimelineEntry"];

/** What is read at once; a whole deploy of many machines. */
const PAGES = 5;

export interface LiveTimeline extends Live<Timeline> {
  readonly readMore: () => void;
}

export function useTimeline(correlationId: string): LiveTimeline {
  const [wanted, setWanted] = useState({ correlationId, times: 1 });
  const times = wanted.correlationId === correlationId ? wanted.times : 1;
  const live = useLive(...timelineOf(correlationId, times));
  return { ...live, readMore: () => setWanted({ correlationId, times: times + 1 }) };
}

/** So many times what is read at once; what was read before stands until that is. */
export function timelineOf(correlationId: string, times = 1): LiveArguments<Timeline> {
  return [
    `timeline:${correlationId}#${times}`,
    (signal) => readTimeline(correlationId, times * PAGES, signal),
    {
      on: ({ correlationid }) => correlationid === correlationId,
      seed: () => (times === 1 ? null : known(timelineOf(correlationId, times - 1))),
    },
  ];
}

async function readTimeline(
  correlationId: string,
  pages: number,
  signal: AbortSignal,
): Promise<Timeline> {
  const read = (cursor: string | null | undefined) =>
    call(
      api.GET("/api/v1/correlations/{correlation_id}", {
        params: {
          path: { correlation_id: correlationId },
          query: cursor ? { cursor, limit: 200 } : { limit: 200 },
        },
        signal,
      }),
    );
  const first = await read(null);
  const entries = [...first.entries];
  let next = first.next_cursor;
  for (let page = 1; page < pages && next; page += 1) {
    const more = await read(next);
    entries.push(...more.entries);
    next = more.next_cursor;
  }
  return { ...first, entries, next_cursor: next ?? null };
}

export function TimelineTable({ timeline }: { readonly timeline: LiveTimeline }) {
  const { value, loading, problem, readNow, readMore } = timeline;
  const more = Boolean(value?.next_cursor);
  return (
    <DataTable
      name="timeline"
      title="Timeline"
      description="Everything that carries the correlation id, from the first request on."
      list={{ items: value?.entries ?? null, more, loading, problem, readNow, readMore }}
      idOf={(entry) => `${entry.kind}:${entry.id}:${entry.at}:${entry.title}`}
      columns={COLUMNS}
      firstRows={4}
      empty={<Empty title="Nothing carries this correlation id, or nothing you may see" />}
    />
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  {
    id: "at",
    header: "When",
    cell: ({ at }) => (
      <time dateTime={at} title={exact(at)} className="digits">
        {timeOfDay(at)}
      </time>
    ),
    value: ({ at }) => at,
    minWidth: 120,
  },
  {
    id: "title",
    header: "What",
    cell: ({ id, title }) => (
      <div className="wrap-anywhere">
        <Thing id={id}>
          <Prose plain>{title}</Prose>
        </Thing>
      </div>
    ),
    value: ({ title, id }) => `${title} ${id}`,
    rowHeader: true,
    minWidth: 300,
  },
  {
    id: "kind",
    header: "Kind",
    cell: ({ kind }) => sentence(kind),
    value: ({ kind }) => kind,
    minWidth: 100,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status, kind }) =>
      status && <Status word={status} work={kind === "operation" || kind === "step"} />,
    value: ({ status }) => status,
    minWidth: 150,
  },
  {
    id: "actor",
    header: "By",
    cell: ({ actor }) => actor && <Actor said={actor} />,
    value: ({ actor }) => actor && findable(actor),
    minWidth: 130,
  },
];

/** Who it was; of a controller's own lines behind it, which replica. */
function Actor({ said }: { readonly said: string }) {
  if (isId(said)) return <Thing id={said} />;
  return (
    <span className="one-line" title={said}>
      <Prose plain>{said}</Prose>
    </span>
  );
}
