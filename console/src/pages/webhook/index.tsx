/** One webhook: whether it is served, how its deliveries fare, and the ways to set it right. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { placeOf } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { useLive } from "../../live/use-live.ts";
import { Copy } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { SecretShown, WebhookStatus } from "../../widgets/webhooks.tsx";
import { Deliveries } from "./deliveries.tsx";
import { type WebhookChange, WebhookDialog } from "./dialogs.tsx";

type Webhook = Schemas["Webhook"];

export default function WebhookPage({ params }: PageProps) {
  const id = params.webhook_id ?? "";
  const webhook = useLive(
    `webhook:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/webhooks/{webhook_id}", { params: { path: { webhook_id: id } }, signal }),
      ),
    { everyMs: 5_000 },
  );
  const can = useCan();
  const [change, setChange] = useState<WebhookChange | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const found = webhook.value;
  const manages = found !== null && can("events.webhook.manage", placeOf(found));
  return (
    <Page
      title={found?.description || "Webhook"}
      description={found?.url}
      actions={manages && <Changes webhook={found} onChange={setChange} />}
    >
      {secret !== null && <SecretShown secret={secret} onDismiss={() => setSecret(null)} />}
      <Loaded live={webhook}>
        {(read) => (
          <SpaceBetween size="l">
            <Standing webhook={read} />
            <Facts webhook={read} />
            <Deliveries webhook={read} manages={manages} />
          </SpaceBetween>
        )}
      </Loaded>
      {found !== null && change !== null && (
        <WebhookDialog
          webhook={found}
          change={change}
          onSecret={setSecret}
          onClose={() => setChange(null)}
        />
      )}
    </Page>
  );
}

interface ChangesProps {
  readonly webhook: Webhook;
  readonly onChange: (change: WebhookChange) => void;
}

function Changes({ webhook, onChange }: ChangesProps) {
  const served = webhook.status === "active";
  return (
    <SpaceBetween direction="horizontal" size="xs">
      <Button onClick={() => onChange("edit")}>Change</Button>
      <Button onClick={() => onChange(served ? "pause" : "resume")}>
        {served ? "Pause" : "Resume"}
      </Button>
      <Button onClick={() => onChange("rotate")}>Rotate the secret</Button>
      <Button onClick={() => onChange("delete")}>Delete</Button>
    </SpaceBetween>
  );
}

/** What stands in the way, and what happens next. */
function Standing({ webhook }: { readonly webhook: Webhook }) {
  const { status, disabled_reason, failing_since, failures, last_error, next_attempt_at } = webhook;
  if (status !== "active") {
    return (
      <Alert type="info" header="Nothing is delivered now">
        {disabled_reason || "It was paused."} What happens meanwhile is kept, and delivered once it
        is resumed.
      </Alert>
    );
  }
  if (failing_since === null) return null;
  return (
    <Alert type="warning" header="The receiver takes nothing">
      <div className="wrap-anywhere">{last_error}</div>
      <div>
        {failures} attempts in a row, since <Moment at={failing_since} />. The next is{" "}
        <Moment at={next_attempt_at} />; nothing is lost meanwhile.
      </div>
    </Alert>
  );
}

function Facts({ webhook }: { readonly webhook: Webhook }) {
  const { filter } = webhook;
  return (
    <Container>
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Status", value: <WebhookStatus webhook={webhook} /> },
          { label: "Takes", value: (filter.types ?? []).join(", ") || "Everything" },
          { label: "Only of the app", value: filter.app_slug ?? "–" },
          { label: "Dealt with up to event", value: webhook.delivered_sequence },
          { label: "Of", value: webhook.project_id === null ? "The tenant" : "The project" },
          { label: "Since", value: <Moment at={webhook.created_at} /> },
          { label: "Id", value: <Copy text={webhook.id} what="the id" /> },
        ]}
      />
    </Container>
  );
}
