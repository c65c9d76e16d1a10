/** The places the events of a project, or of a tenant with all its projects, are delivered to. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../api/client.ts";
import type { JsonObject, Schemas } from "../api/contract.ts";
import { pageQuery } from "../api/pages.ts";
import { useCan } from "../app/access.ts";
import { FormDialog } from "../forms/form-dialog.tsx";
import { objectOf } from "../forms/own-schemas.ts";
import { useList } from "../live/use-list.ts";
import { CopyBlock } from "./copy.tsx";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { Moment } from "./moment.tsx";
import { Status } from "./status.tsx";

type Webhook = Schemas["Webhook"];

interface WebhooksProps {
  readonly place: { readonly org_id: string; readonly project_id: string | null };
}

export function Webhooks({ place }: WebhooksProps) {
  const manages = useCan()("events.webhook.manage", place);
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const list = useWebhooks(place);
  const make = manages && <Button onClick={() => setMaking(true)}>Add a webhook</Button>;
  return (
    <SpaceBetween size="l">
      {secret !== null && <SecretShown secret={secret} onDismiss={() => setSecret(null)} />}
      <DataTable
        name="webhooks"
        title="Webhooks"
        description="Events are delivered in order, signed, until the receiver answers 2xx."
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        sortedBy="url"
        actions={make}
        empty={
          <Empty title="No webhook yet" action={make}>
            A webhook tells another system what happens here, without it having to ask.
          </Empty>
        }
      />
      {making && (
        <FormDialog
          title="Add a webhook"
          submitText="Add"
          schema={WEBHOOK_SCHEMA}
          onClose={() => setMaking(false)}
          submit={async (value, key) => setSecret((await created(place, value, key)).secret)}
        />
      )}
    </SpaceBetween>
  );
}

/** The one moment in which a signing secret is shown. */
export function SecretShown(props: { readonly secret: string; readonly onDismiss: () => void }) {
  return (
    <Alert
      type="success"
      header="This secret is shown once"
      dismissible
      onDismiss={props.onDismiss}
    >
      <SpaceBetween size="s">
        <div>
          Give it to the receiver: it proves with it that a delivery comes from here. It cannot be
          shown again; a lost one is rotated.
        </div>
        <CopyBlock text={props.secret} what="the secret" />
      </SpaceBetween>
    </Alert>
  );
}

/** What a person says of a webhook; also to change one. */
export const WEBHOOK_SCHEMA = objectOf(
  {
    url: {
      title: "URL",
      type: "string",
      pattern: "^https?://[^\\s]+$",
      maxLength: 2000,
      "x-pattern-help": "begins with https:// or http://",
      "x-placeholder": "https://receiver.example/hook",
    },
    description: { title: "Description", type: "string", maxLength: 500 },
    types: {
      title: "Types of events",
      type: "array",
      items: { type: "string" },
      "x-widget": "tokens",
      "x-help": "A type, or its first words, such as apps.instance. None: everything.",
    },
    app_slug: {
      title: "Only of the app",
      type: "string",
      maxLength: 128,
      "x-help": "Its slug. Empty: of every app.",
    },
  },
  "url",
);

export function filterOf({ types, app_slug }: JsonObject): Schemas["WebhookFilter"] {
  return {
    types: Array.isArray(types) ? types.map(String) : [],
    ...(app_slug ? { app_slug: String(app_slug) } : {}),
  };
}

function useWebhooks({ org_id, project_id }: WebhooksProps["place"]) {
  return useList(
    `webhooks:${project_id ?? org_id}`,
    (cursor, signal) => {
      const query = pageQuery(cursor);
      return project_id === null
        ? call(
            api.GET("/api/v1/tenants/{org_id}/webhooks", {
              params: { path: { org_id }, query },
              signal,
            }),
          )
        : call(
            api.GET("/api/v1/projects/{project_id}/webhooks", {
              params: { path: { project_id }, query },
              signal,
            }),
          );
    },
    { everyMs: 10_000 },
  );
}

function created(
  { org_id, project_id }: WebhooksProps["place"],
  value: JsonObject,
  key: string,
): Promise<Schemas["WebhookWithSecret"]> {
  const sent = {
    body: {
      url: String(value.url),
      description: String(value.description ?? ""),
      filter: filterOf(value),
    },
    headers: { "Idempotency-Key": key },
  };
  return project_id === null
    ? call(api.POST("/api/v1/tenants/{org_id}/webhooks", { params: { path: { org_id } }, ...sent }))
    : call(
        api.POST("/api/v1/projects/{project_id}/webhooks", {
          params: { path: { project_id } },
          ...sent,
        }),
      );
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    id: "url",
    header: "URL",
    cell: ({ id, url }) => <Link href={`/webhooks/${id}`}>{url}</Link>,
    value: ({ url, description }) => `${url} ${description}`,
    rowHeader: true,
    minWidth: 200,
  },
  {
    id: "description",
    header: "Description",
    cell: ({ description }) => description || null,
    value: (one) => one.description,
  },
  {
    id: "status",
    header: "Status",
    cell: (one) => <WebhookStatus webhook={one} />,
    value: (one) => one.status,
  },
  {
    id: "takes",
    header: "Takes",
    cell: ({ filter }) => (filter.types ?? []).join(", ") || "Everything",
    value: ({ filter }) => (filter.types ?? []).join(" "),
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
];

/** Whether it is served, and whether its receiver takes anything. */
export function WebhookStatus({ webhook }: { readonly webhook: Webhook }) {
  const failing = webhook.status === "active" && webhook.failing_since !== null;
  return <Status word={failing ? "failing" : webhook.status} />;
}
