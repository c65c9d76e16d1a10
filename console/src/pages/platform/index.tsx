/** How the platform itself is: what it needs and whether that is there, and which version runs. Public:
 * it must be readable when nobody can sign in. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import type { Readiness } from "../../api/contract.ts";
import { useNow } from "../../live/use-now.ts";
import { type Polling, usePolling } from "../../live/use-polling.ts";
import { Later, Page } from "../../widgets/page.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { ago, secondsUntil } from "../../widgets/times.ts";
import { Operators } from "./operators.tsx";
import { type PlatformState, readPlatform } from "./read.ts";

const EVERY_MS = 5_000;

export default function PlatformPage() {
  const polling = usePolling("platform", readPlatform, EVERY_MS);
  const { value, problem, readNow } = polling;
  const current = problem === null;
  return (
    <Page
      title="Platform"
      description="Whether the platform can serve requests, and what it depends on."
      actions={
        <Button iconName="refresh" onClick={readNow}>
          Refresh
        </Button>
      }
    >
      <Trouble polling={polling} />
      <Summary value={value} readAt={polling.readAt} current={current} />
      <Checks
        checks={value?.readiness.checks ?? []}
        loading={value === null && problem === null}
        current={current}
      />
      <Later>
        <Operators />
      </Later>
    </Page>
  );
}

function Trouble({ polling }: { readonly polling: Polling<PlatformState> }) {
  const now = useNow();
  const { problem, readAt, retryAt, readNow } = polling;
  if (problem === null) return null;
  return (
    <SpaceBetween size="xs">
      <ProblemAlert problem={problem} action={<Button onClick={readNow}>Try now</Button>} />
      <Box color="text-body-secondary">
        {readAt !== null && "What is shown below is the last that was known. "}
        {retryAt !== null && <span aria-hidden>Next try in {secondsUntil(retryAt, now)} s.</span>}
      </Box>
    </SpaceBetween>
  );
}

interface SummaryProps {
  readonly value: PlatformState | null;
  readonly readAt: number | null;
  readonly current: boolean;
}

function Summary({ value, readAt, current }: SummaryProps) {
  const now = useNow();
  return (
    <Container header={<Header variant="h2">Overview</Header>}>
      <KeyValuePairs
        columns={4}
        items={[
          {
            label: "Status",
            value: <Status readiness={value?.readiness ?? null} current={current} />,
          },
          { label: "Version", value: value?.version.version ?? "–" },
          { label: "Schema revision", value: value?.version.schema_revision ?? "–" },
          { label: "Read", value: readAt === null ? "–" : ago(readAt, now) },
        ]}
      />
    </Container>
  );
}

interface StatusProps {
  readonly readiness: Readiness | null;
  readonly current: boolean;
}

function Status({ readiness, current }: StatusProps) {
  if (readiness === null) {
    return current ? (
      <StatusIndicator type="loading">Reading</StatusIndicator>
    ) : (
      <StatusIndicator type="stopped">Unknown</StatusIndicator>
    );
  }
  const ready = readiness.status === "ready";
  if (!current) {
    return (
      <StatusIndicator type="stopped">Unknown, was {ready ? "" : "not "}ready</StatusIndicator>
    );
  }
  return (
    <StatusIndicator type={ready ? "success" : "error"}>
      {ready ? "Ready" : "Not ready"}
    </StatusIndicator>
  );
}

interface ChecksProps {
  readonly checks: Readiness["checks"];
  readonly loading: boolean;
  readonly current: boolean;
}

function Checks({ checks, loading, current }: ChecksProps) {
  const failing = checks.filter(({ ok }) => !ok).length;
  return (
    <Table
      header={
        <Header
          variant="h2"
          counter={`(${checks.length})`}
          description={failing > 0 ? `${failing} of ${checks.length} not in order` : undefined}
        >
          Checks
        </Header>
      }
      items={checks}
      trackBy="name"
      loading={loading}
      loadingText="Reading the checks"
      wrapLines
      columnDefinitions={[
        { id: "name", header: "Check", cell: ({ name }) => name, isRowHeader: true, width: "30%" },
        {
          id: "status",
          header: "Status",
          cell: ({ ok, detail }) => (
            <>
              <CheckStatus ok={ok} current={current} />
              {detail && <Box color="text-body-secondary">{detail}</Box>}
            </>
          ),
        },
      ]}
      empty={<Box color="text-body-secondary">The platform has named no checks.</Box>}
    />
  );
}

function CheckStatus({ ok, current }: { readonly ok: boolean; readonly current: boolean }) {
  const word = ok ? "In order" : "Failing";
  if (!current) return <StatusIndicator type="stopped">Was {word.toLowerCase()}</StatusIndicator>;
  return <StatusIndicator type={ok ? "success" : "error"}>{word}</StatusIndicator>;
}
