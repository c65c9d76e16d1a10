/** What operators see of the platform besides its checks: replicas, duties, what waits, controllers seen. */

import Box from "@cloudscape-design/components/box";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { useLive } from "../../live/use-live.ts";
import { ReadProblem } from "../../widgets/page.tsx";
import { elapsed } from "../../widgets/times.ts";
import { sentence } from "../../widgets/words.ts";

type Health = Schemas["PlatformHealth"];

const EVERY_MS = 5_000;

export function Operators() {
  const may = useCan()("operate.health.read");
  const health = useLive(
    may ? "platform-health" : null,
    (signal) => call(api.GET("/api/v1/admin/health", { signal })),
    { everyMs: EVERY_MS },
  );
  if (!may) return null;
  return (
    <SpaceBetween size="l">
      <ReadProblem live={health} />
      {health.value !== null && <HealthView health={health.value} />}
    </SpaceBetween>
  );
}

function HealthView({ health }: { readonly health: Health }) {
  return (
    <ColumnLayout columns={2}>
      <Container header={<Header variant="h2">Replicas and duties</Header>}>
        <KeyValuePairs
          columns={2}
          items={[
            ...health.replicas.map(({ name, version, this_one }) => ({
              label: this_one ? "This replica" : "Replica",
              value: `${name} (${version})`,
            })),
            ...health.duties.map(({ duty, holder }) => ({
              label: sentence(duty),
              value: holder ?? <StatusIndicator type="warning">Nobody does it</StatusIndicator>,
            })),
          ]}
        />
      </Container>
      <Container header={<Header variant="h2">What waits</Header>}>
        <KeyValuePairs
          columns={2}
          items={[
            ...health.queues.map(({ name, depth, oldest_seconds }) => ({
              label: sentence(name),
              value: `${depth}${oldest_seconds ? `, the oldest for ${elapsed(oldest_seconds * 1000)}` : ""}`,
            })),
            ...Object.entries(health.operations).map(([status, number]) => ({
              label: `Operations ${status}`,
              value: number,
            })),
            { label: "Webhooks failing", value: health.webhooks_failing },
            { label: "Deliveries given up", value: health.webhook_deliveries_dead },
          ]}
        />
      </Container>
      <Container header={<Header variant="h2">Controllers seen</Header>}>
        {health.controllers.length === 0 ? (
          <Box color="text-body-secondary">
            None yet. An app's controller shows up when it first asks for work.
          </Box>
        ) : (
          <KeyValuePairs
            columns={2}
            items={health.controllers.map(({ app_slug, present, absent }) => ({
              label: app_slug,
              value: (
                <StatusIndicator type={present > 0 ? "success" : "warning"}>
                  {present} at work{absent > 0 && `, ${absent} not seen for a while`}
                </StatusIndicator>
              ),
            }))}
          />
        )}
      </Container>
    </ColumnLayout>
  );
}
