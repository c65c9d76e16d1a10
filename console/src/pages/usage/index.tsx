/** What a project used and what it cost: the last month by day, and every record behind it. */

import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import type { PageProps } from "../../app/router.tsx";
import { useList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { money } from "../../manifest/price.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { UsageDays } from "../../widgets/usage-days.tsx";
import { hoursNumber } from "../../widgets/usage-scale.ts";
import { sentence } from "../../widgets/words.ts";

type Total = Schemas["UsageTotal"];
type UsageRecord = Schemas["UsageRecord"];

export default function UsagePage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const days = useLive(`usage-days:${projectId}`, (signal) =>
    call(
      api.GET("/api/v1/projects/{project_id}/usage/summary", {
        params: { path: { project_id: projectId } },
        signal,
      }),
    ),
  );
  const records = useList(`usage-records:${projectId}`, (cursor, signal) =>
    call(
      api.GET("/api/v1/projects/{project_id}/usage", {
        params: { path: { project_id: projectId }, query: pageQuery(cursor) },
        signal,
      }),
    ),
  );
  return (
    <Page
      title="Usage"
      description="Machines cost their price while they are held, paid by this project. Apps are counted while they run."
    >
      <SpaceBetween size="l">
        <Container header={<Header variant="h2">The last 31 days</Header>}>
          <Loaded live={days}>
            {(totals) => (
              <SpaceBetween size="s">
                <Box variant="awsui-value-large">{costOf(totals)}</Box>
                <UsageDays days={totals} />
              </SpaceBetween>
            )}
          </Loaded>
        </Container>
        <DataTable
          name="records"
          title="Records"
          description="One for each stretch of time at one price; what goes on is counted up to now."
          list={records}
          idOf={({ id }) => id}
          columns={COLUMNS}
          empty={
            <Empty title="Nothing was used yet">
              The first record begins when the project holds its first machine.
            </Empty>
          }
        />
      </SpaceBetween>
    </Page>
  );
}

const COLUMNS: readonly Column<UsageRecord>[] = [
  {
    id: "subject",
    header: "What",
    cell: ({ source, subject_id, subject_name, sku }) => (
      <>
        <Link href={`/${source === "allocation" ? "allocations" : "instances"}/${subject_id}`}>
          {subject_name}
        </Link>
        {sku && <Box color="text-body-secondary">{sku}</Box>}
      </>
    ),
    value: ({ subject_name }) => subject_name,
    rowHeader: true,
  },
  {
    id: "unit",
    header: "Counted in",
    cell: ({ unit }) => `${sentence(unit).replace("Gpu", "GPU")}s`,
    value: ({ unit }) => unit,
  },
  {
    id: "quantity",
    header: "Hours",
    cell: ({ quantity }) => hoursNumber(Number(quantity)),
    value: ({ quantity }) => Number(quantity),
  },
  {
    id: "amount",
    header: "Cost",
    cell: ({ amount, currency, pricing }) =>
      amount && currency
        ? money(Number(amount), currency)
        : pricing === "unknown"
          ? "Not known"
          : null,
    value: ({ amount }) => Number(amount ?? 0),
  },
  {
    id: "began",
    header: "Began",
    cell: ({ started_at, began_correlation_id }) => (
      <When at={started_at} id={began_correlation_id} />
    ),
    value: ({ started_at }) => started_at,
  },
  {
    id: "ended",
    header: "Ended",
    cell: ({ ended_at, ended_correlation_id }) =>
      ended_at === null ? "Goes on" : <When at={ended_at} id={ended_correlation_id} />,
    value: ({ ended_at }) => ended_at ?? "",
  },
];

/** A moment that leads to everything that happened with it. */
function When({ at, id }: { readonly at: string; readonly id: string | null }) {
  if (!id) return <Moment at={at} />;
  return (
    <Link href={`/correlations/${encodeURIComponent(id)}`}>
      <Moment at={at} />
    </Link>
  );
}

function costOf(totals: readonly Total[]): string {
  const sums = new Map<string, number>();
  for (const { amount, currency } of totals) {
    if (amount && currency) sums.set(currency, (sums.get(currency) ?? 0) + Number(amount));
  }
  return [...sums].map(([currency, sum]) => money(sum, currency)).join(", ") || "–";
}
