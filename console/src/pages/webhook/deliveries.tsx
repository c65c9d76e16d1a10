/** How events fared with a webhook; the dead ones can be sent on their way once more. */

import Button from "@cloudscape-design/components/button";
import Select from "@cloudscape-design/components/select";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { noticeDone } from "../../app/notices.ts";
import { useQuery } from "../../app/router.tsx";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Status } from "../../widgets/status.tsx";
import { count } from "../../widgets/words.ts";

type Webhook = Schemas["Webhook"];
type Delivery = Schemas["WebhookDelivery"];

interface DeliveriesProps {
  readonly webhook: Webhook;
  readonly manages: boolean;
}

const STATES = [
  { value: "", label: "All deliveries" },
  { value: "dead", label: "Dead: given up" },
  { value: "failed", label: "Failed: tried again" },
  { value: "redelivering", label: "On their way again" },
  { value: "delivered", label: "Delivered" },
] as const;

type Wanted = Delivery["status"];

export function Deliveries({ webhook, manages }: DeliveriesProps) {
  const [wanted, setWanted] = useQuery("status");
  const [sending, setSending] = useState<Delivery | "all" | null>(null);
  const state = STATES.find(({ value }) => value === wanted) ?? STATES[0];
  const list = useList(
    `deliveries:${webhook.id}:${state.value}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/webhooks/{webhook_id}/deliveries", {
          params: {
            path: { webhook_id: webhook.id },
            query: {
              ...pageQuery(cursor),
              ...(state.value === "" ? {} : { status: state.value as Wanted }),
            },
          },
          signal,
        }),
      ),
    { everyMs: 5_000 },
  );
  const dead = (list.items ?? []).some(({ status }) => status === "dead");
  return (
    <>
      <DataTable
        name="deliveries"
        title="Deliveries"
        list={list}
        idOf={({ id }) => id}
        columns={manages ? [...COLUMNS, redeliverColumn(setSending)] : COLUMNS}
        actions={
          manages && (
            <Button disabled={!dead} onClick={() => setSending("all")}>
              Redeliver all that are dead
            </Button>
          )
        }
        filters={
          <Select
            ariaLabel="Which deliveries"
            options={STATES.map(({ value, label }) => ({ value, label }))}
            selectedOption={{ value: state.value, label: state.label }}
            onChange={({ detail }) => setWanted(detail.selectedOption.value ?? "")}
          />
        }
        empty={
          <Empty title="No delivery">
            {state.value === "dead"
              ? "Nothing was given up."
              : "The next event that it takes appears here."}
          </Empty>
        }
      />
      {sending !== null && (
        <Redeliver webhook={webhook} sending={sending} onClose={() => setSending(null)} />
      )}
    </>
  );
}

interface RedeliverProps {
  readonly webhook: Webhook;
  readonly sending: Delivery | "all";
  readonly onClose: () => void;
}

function Redeliver({ webhook, sending, onClose }: RedeliverProps) {
  return (
    <FormDialog
      title={
        sending === "all" ? "Redeliver all that are dead?" : `Redeliver ${sending.event_type}?`
      }
      submitText="Redeliver"
      onClose={onClose}
      submit={async (_, key) => {
        const headers = { "Idempotency-Key": key };
        if (sending !== "all") {
          const path = { delivery_id: sending.id };
          return call(
            api.POST("/api/v1/webhook-deliveries/{delivery_id}/redeliver", {
              params: { path },
              headers,
            }),
          );
        }
        const path = { webhook_id: webhook.id };
        const done = await call(
          api.POST("/api/v1/webhooks/{webhook_id}/redeliver", { params: { path }, headers }),
        );
        return noticeDone(`${count(done.count, "delivery", "deliveries")} on the way again.`);
      }}
    >
      Each is tried once more. It may come after events that happened later: the receiver tells by
      the event's sequence.
    </FormDialog>
  );
}

const COLUMNS: readonly Column<Delivery>[] = [
  {
    id: "event",
    header: "Event",
    cell: ({ event_type }) => <code>{event_type}</code>,
    value: ({ event_type, event_id }) => `${event_type} ${event_id}`,
    rowHeader: true,
  },
  {
    id: "sequence",
    header: "Sequence",
    cell: ({ sequence }) => <span className="digits">{sequence}</span>,
    value: (one) => one.sequence,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: (one) => one.status,
  },
  {
    id: "attempts",
    header: "Attempts",
    cell: ({ attempts }) => attempts,
    value: (one) => one.attempts,
  },
  {
    id: "answer",
    header: "Answer",
    cell: ({ response_status, error }) =>
      [response_status, error].filter(Boolean).join(": ") || null,
    value: ({ response_status, error }) => `${response_status ?? ""} ${error}`,
  },
  { id: "at", header: "When", cell: ({ at }) => <Moment at={at} />, value: (one) => one.at },
];

function redeliverColumn(open: (delivery: Delivery) => void): Column<Delivery> {
  return {
    id: "act",
    header: "Change",
    cell: (of) =>
      of.status === "dead" && (
        <Button
          variant="inline-link"
          ariaLabel={`Redeliver event ${of.sequence}`}
          onClick={() => open(of)}
        >
          Redeliver
        </Button>
      ),
  };
}
