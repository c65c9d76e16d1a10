/** Who did what to what: with filters, the way to take it along, and the proof that nothing was changed. */

import Button from "@cloudscape-design/components/button";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { FEW, pageQuery } from "../../api/pages.ts";
import { canSomewhere } from "../../app/access.ts";
import { type Ahead, useLocation } from "../../app/router.tsx";
import { session } from "../../app/session.ts";
import { useStore } from "../../live/store.ts";
import { type ListArguments, readListAhead, useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { findable } from "../../widgets/named.tsx";
import { Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { count, sentence } from "../../widgets/words.ts";
import { useChainCheck } from "./chain-check.tsx";
import { FilterFields } from "./filter-fields.tsx";

type AuditRecord = Schemas["AuditRecord"];

const FILTERED = [
  "action",
  "actor_id",
  "target_id",
  "correlation_id",
  "project_id",
  "outcome",
] as const;

export const ahead: Ahead = (_, search) => readListAhead(...entriesOf(filtersIn(search)));

export default function AuditPage() {
  const current = useStore(session);
  const who = "who" in current ? current.who : null;
  const query = filtersIn(useLocation().search);
  const chain = useChainCheck();
  const list = useList(...entriesOf(query));
  const exportHref = `/api/v1/audit/export?${new URLSearchParams(query)}`;
  return (
    <Page
      title="Audit"
      description="Every privileged change, allowed or not. Each entry holds the hash of the one before it: verifying recomputes all of them, and shows any later change."
      actions={
        <SpaceBetween size="xs" direction="horizontal">
          {canSomewhere(who, "audit.chain.verify") && (
            <Button loading={chain.running} onClick={chain.verify}>
              Verify the chain
            </Button>
          )}
          {canSomewhere(who, "audit.entry.export") && (
            <Button href={exportHref} download="audit.ndjson" iconName="download">
              Export
            </Button>
          )}
        </SpaceBetween>
      }
    >
      {chain.found}
      <Filters used={Object.keys(query).length} />
      <DataTable
        name="audit"
        title="Entries"
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        firstRows={5}
        empty={
          <Empty title="No entry">
            Nothing matches, or nothing was changed yet where you may look.
          </Empty>
        }
      />
    </Page>
  );
}

function entriesOf(query: Record<string, string>): ListArguments<AuditRecord> {
  return [
    `audit:${JSON.stringify(query)}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/audit", {
          params: { query: { ...query, ...pageQuery(cursor, FEW) } },
          signal,
        }),
      ),
    { on: () => true },
  ];
}

/** The filters as they stand in the address. */
function filtersIn(search: string): Record<string, string> {
  const given = new URLSearchParams(search);
  return Object.fromEntries(
    FILTERED.map((name) => [name, given.get(name) ?? ""]).filter(([, value]) => value !== ""),
  );
}

/** Open where the address narrows the list, and drawn only when open: six fields are dear. */
function Filters({ used }: { readonly used: number }) {
  const [open, setOpen] = useState(used > 0);
  return (
    <ExpandableSection
      variant="container"
      headerText="Filters"
      headerDescription={
        used === 0
          ? "Narrow the entries by action, person, thing, correlation id, project or outcome."
          : `${count(used, "filter narrows", "filters narrow")} the entries.`
      }
      expanded={open}
      onChange={({ detail }) => setOpen(detail.expanded)}
    >
      {open && <FilterFields />}
    </ExpandableSection>
  );
}

const COLUMNS: readonly Column<AuditRecord>[] = [
  { id: "at", header: "When", cell: ({ at }) => <Moment at={at} />, value: ({ at }) => at },
  {
    id: "action",
    header: "Action",
    cell: ({ action }) => <code>{action}</code>,
    value: ({ action }) => action,
    rowHeader: true,
  },
  {
    id: "outcome",
    header: "Outcome",
    cell: ({ outcome }) => <Status word={outcome} />,
    value: ({ outcome }) => outcome,
  },
  {
    id: "actor",
    header: "Who",
    cell: ({ actor_id }) => <Thing id={actor_id} />,
    value: ({ actor_id }) => findable(actor_id),
  },
  {
    id: "target",
    header: "On what",
    cell: ({ target_kind, target_id }) => (
      <span className="no-wrap">
        {sentence(target_kind)} <Thing id={target_id} />
      </span>
    ),
    value: ({ target_kind, target_id }) => `${target_kind} ${findable(target_id)}`,
  },
  {
    id: "reason",
    header: "Reason",
    cell: ({ reason }) => reason || null,
    value: ({ reason }) => reason,
  },
  { id: "seq", header: "Place", cell: ({ seq }) => seq ?? "Soon", value: ({ seq }) => seq ?? null },
  {
    id: "correlation",
    header: "Correlation id",
    cell: ({ correlation_id }) => (
      <Link href={`/correlations/${encodeURIComponent(correlation_id)}`}>{correlation_id}</Link>
    ),
    value: ({ correlation_id }) => correlation_id,
  },
];
