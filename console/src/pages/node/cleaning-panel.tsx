/** The newest cleaning of a node between tenants: how far it is, and what an operator can do about it. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf, REASON } from "../../forms/own-schemas.ts";
import { useLive } from "../../live/use-live.ts";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded } from "../../widgets/page.tsx";
import { PlainTable } from "../../widgets/plain-table.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { sentence } from "../../widgets/words.ts";

type Cleaning = Schemas["Cleaning"];
type Action = Schemas["CleaningAction"];

const EVERY_MS = 5_000;

export function CleaningPanel({ nodeId }: { readonly nodeId: string }) {
  const page = useLive(
    `cleaning:${nodeId}`,
    (signal) =>
      call(
        api.GET("/api/v1/cleanings", {
          params: { query: { node_id: nodeId, limit: 1 } },
          signal,
        }),
      ),
    { on: ({ type }) => type.includes(".cleaning."), everyMs: EVERY_MS },
  );
  return (
    <Loaded live={page}>
      {({ items }) => items[0] !== undefined && <Panel cleaning={items[0]} />}
    </Loaded>
  );
}

function Panel({ cleaning }: { readonly cleaning: Cleaning }) {
  const manages = useCan()("capacity.node.manage");
  const [doing, setDoing] = useState<Action | null>(null);
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={
            manages && (
              <SpaceBetween size="xs" direction="horizontal">
                {cleaning.next_actions.map((action) => (
                  <Button key={action} onClick={() => setDoing(action)}>
                    {WORDS[action].button}
                  </Button>
                ))}
              </SpaceBetween>
            )
          }
        >
          Cleaning between tenants
        </Header>
      }
    >
      <SpaceBetween size="m">
        <KeyValuePairs
          columns={4}
          items={[
            { label: "Status", value: <Status word={cleaning.status} /> },
            { label: "Method", value: sentence(cleaning.method) },
            { label: "Leaves", value: cleaning.org_id ? <Thing id={cleaning.org_id} /> : "–" },
            { label: "Began", value: <Moment at={cleaning.created_at} /> },
            { label: "Reason", value: <Prose>{cleaning.status_reason || "–"}</Prose> },
          ]}
        />
        <PlainTable
          label="Steps of the cleaning"
          head={["Step", "State", "At", "What was seen"]}
          rows={cleaning.steps.map(({ name, state, at, message }) => [
            sentence(name),
            <Status key="state" word={state} work />,
            <Moment key="at" at={at} />,
            <Box key="message">{message}</Box>,
          ])}
        />
      </SpaceBetween>
      {doing !== null && (
        <ActionDialog cleaning={cleaning} action={doing} onClose={() => setDoing(null)} />
      )}
    </Container>
  );
}

const WORDS: Record<Action, { button: string; title: string; text: string }> = {
  confirm: {
    button: "Confirm",
    title: "Confirm that this machine was cleaned?",
    text: "Your name and the reason are kept in the audit log. Without new host keys here, the machine has to enrol afresh.",
  },
  retry: {
    button: "Retry",
    title: "Try this cleaning again?",
    text: "The machine is cleaned from the beginning.",
  },
  retire: {
    button: "Retire",
    title: "Retire this node?",
    text: "It is given out to no tenant again. The record stays.",
  },
};

const HOST_KEYS = {
  title: "New host keys",
  type: "array",
  items: { type: "string", maxLength: 2000 },
  "x-help": "Of a machine without an agent. None of them may be one it had before.",
} as const;

interface DialogProps {
  readonly cleaning: Cleaning;
  readonly action: Action;
  readonly onClose: () => void;
}

function ActionDialog({ cleaning, action, onClose }: DialogProps) {
  const words = WORDS[action];
  const fields =
    action === "confirm" ? { reason: REASON, host_keys: HOST_KEYS } : { reason: REASON };
  return (
    <FormDialog
      title={words.title}
      submitText={words.button}
      schema={objectOf(fields, "reason")}
      onClose={onClose}
      submit={({ reason, host_keys }, key) => {
        const params = { path: { cleaning_id: cleaning.id } };
        const headers = { "Idempotency-Key": key };
        const body = { reason: String(reason) };
        if (action === "retry")
          return call(api.POST("/api/v1/cleanings/{cleaning_id}/retry", { params, body, headers }));
        if (action === "retire")
          return call(
            api.POST("/api/v1/cleanings/{cleaning_id}/retire", { params, body, headers }),
          );
        const keys = Array.isArray(host_keys) ? host_keys.map(String) : [];
        return call(
          api.POST("/api/v1/cleanings/{cleaning_id}/confirm", {
            params,
            body: { ...body, host_keys: keys },
            headers,
          }),
        );
      }}
    >
      {words.text}
    </FormDialog>
  );
}
