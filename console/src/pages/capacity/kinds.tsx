/** Kinds of machines and their prices. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Sku } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { HOURS_A_MONTH, money, skuText } from "../../manifest/price.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";

const PRICE: JsonObject = {
  title: "Price per hour",
  type: "string",
  pattern: "^\\d{1,8}(\\.\\d{1,4})?$",
  "x-pattern-help": "is a number such as 2.50",
};

export function Kinds() {
  const manages = useCan()("capacity.sku.manage");
  const [making, setMaking] = useState(false);
  const [pricing, setPricing] = useState<Sku | null>(null);
  const list = useList(
    "sku-list",
    (cursor, signal) =>
      call(api.GET("/api/v1/skus", { params: { query: pageQuery(cursor) }, signal })),
    { on: ({ type }) => type.startsWith("capacity.sku") },
  );
  const make = manages && <Button onClick={() => setMaking(true)}>Add a kind</Button>;
  return (
    <>
      <DataTable
        name="kinds"
        title="Kinds of machines"
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [priceColumn(setPricing)] : [])]}
        actions={make}
        empty={
          <Empty title="No kind yet" action={make}>
            A kind says what a machine is and costs.
          </Empty>
        }
      />
      {making && <NewKind onClose={() => setMaking(false)} />}
      {pricing !== null && (
        <FormDialog
          title={`Price of ${pricing.display_name}`}
          submitText="Set it"
          schema={objectOf({ price: PRICE }, "price")}
          initial={{ price: String(pricing.price_per_hour) }}
          onClose={() => setPricing(null)}
          submit={({ price }, key) =>
            call(
              api.PATCH("/api/v1/skus/{name}", {
                params: { path: { name: pricing.name } },
                body: { price_per_hour: String(price) },
                headers: { "Idempotency-Key": key, "If-Match": `"${pricing.revision}"` },
              }),
            )
          }
        >
          What is billed already keeps the price it had.
        </FormDialog>
      )}
    </>
  );
}

function NewKind({ onClose }: { readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Add a kind of machine"
      submitText="Add"
      schema={objectOf(
        {
          name: NAME,
          display_name: { title: "Label", type: "string", minLength: 1, maxLength: 200 },
          cpus: { title: "CPUs", type: "integer", minimum: 1, maximum: 4096 },
          memory_gib: {
            title: "Memory",
            type: "integer",
            minimum: 1,
            maximum: 65_536,
            "x-unit": "GiB",
          },
          gpus: { title: "GPUs", type: "integer", minimum: 0, maximum: 64, default: 0 },
          gpu_model: { title: "GPU model", type: "string", maxLength: 100 },
          price_per_hour: PRICE,
          currency: { title: "Currency", type: "string", pattern: "^[A-Z]{3}$", default: "EUR" },
        },
        "name",
        "display_name",
        "cpus",
        "memory_gib",
        "price_per_hour",
      )}
      onClose={onClose}
      submit={(value, key) =>
        call(
          api.POST("/api/v1/skus", {
            body: {
              name: String(value.name),
              display_name: String(value.display_name),
              cpus: Number(value.cpus),
              memory_mib: Number(value.memory_gib) * 1024,
              gpus: Number(value.gpus ?? 0),
              gpu_model: String(value.gpu_model ?? ""),
              price_per_hour: String(value.price_per_hour),
              currency: String(value.currency ?? "EUR"),
            },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    />
  );
}

const COLUMNS: readonly Column<Sku>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "label",
    header: "Label",
    cell: ({ display_name }) => display_name,
    value: (one) => one.display_name,
  },
  { id: "is", header: "Is", cell: skuText, value: skuText },
  {
    id: "hour",
    header: "Per hour",
    cell: ({ price_per_hour, currency }) => money(Number(price_per_hour), currency),
    value: ({ price_per_hour }) => Number(price_per_hour),
  },
  {
    id: "month",
    header: "Per month",
    cell: ({ price_per_hour, currency }) => money(Number(price_per_hour) * HOURS_A_MONTH, currency),
    value: ({ price_per_hour }) => Number(price_per_hour) * HOURS_A_MONTH,
  },
];

function priceColumn(open: (sku: Sku) => void): Column<Sku> {
  return {
    id: "price",
    header: "Change",
    cell: (sku) => (
      <Button
        variant="inline-link"
        ariaLabel={`Set the price of ${sku.name}`}
        onClick={() => open(sku)}
      >
        Set the price
      </Button>
    ),
  };
}
