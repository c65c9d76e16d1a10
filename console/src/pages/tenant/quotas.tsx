/** How many machines a tenant may hold at once. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { wholeList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";

type Quota = Schemas["Quota"];

export function Quotas({ orgId }: { readonly orgId: string }) {
  const [setting, setSetting] = useState(false);
  const path = { org_id: orgId };
  const quotas = useLive(
    `quotas:${orgId}`,
    (signal) => call(api.GET("/api/v1/tenants/{org_id}/quotas", { params: { path }, signal })),
    { on: ({ type }) => type.startsWith("capacity.") },
  );
  return (
    <>
      <DataTable
        name="quotas"
        title="Quotas"
        list={{ ...wholeList(quotas.value), problem: quotas.problem, readNow: quotas.readNow }}
        idOf={({ sku, project_id }) => `${project_id ?? ""}:${sku}`}
        columns={COLUMNS}
        actions={<Button onClick={() => setSetting(true)}>Set a quota</Button>}
        empty={<Empty title="No quota is set">The tenant may hold whatever is free.</Empty>}
      />
      {setting && (
        <FormDialog
          title="Set a quota"
          submitText="Set it"
          schema={objectOf(
            {
              sku: {
                title: "Kind",
                type: "string",
                default: "*",
                "x-help": "The name of a kind of machine, or * for all.",
              },
              limit: { title: "At most", type: "integer", minimum: 0, maximum: 1_000_000 },
            },
            "sku",
            "limit",
          )}
          onClose={() => setSetting(false)}
          submit={({ sku, limit }, key) =>
            call(
              api.PUT("/api/v1/tenants/{org_id}/quotas", {
                params: { path },
                body: { sku: String(sku), limit: Number(limit) },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<Quota>[] = [
  {
    id: "sku",
    header: "Kind",
    cell: ({ sku }) => (sku === "*" ? "All kinds together" : sku),
    value: ({ sku }) => sku,
    rowHeader: true,
  },
  { id: "used", header: "Held now", cell: ({ used }) => used, value: ({ used }) => used },
  { id: "limit", header: "At most", cell: ({ limit }) => limit, value: ({ limit }) => limit },
];
