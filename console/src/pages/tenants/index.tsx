/** The tenants of the platform. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Page } from "../../widgets/page.tsx";

type Tenant = Schemas["Tenant"];

export default function TenantsPage() {
  const can = useCan();
  const [making, setMaking] = useState(false);
  const list = useList(
    "tenants",
    (cursor, signal) =>
      call(api.GET("/api/v1/tenants", { params: { query: pageQuery(cursor) }, signal })),
    { on: ({ type }) => type.startsWith("identity.tenant") },
  );
  const make = can("identity.tenant.create") && (
    <Button onClick={() => setMaking(true)}>Make a tenant</Button>
  );
  return (
    <Page title="Tenants" description="Customers: each owns its projects, people and roles.">
      <DataTable
        name="tenants"
        title="Tenants"
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        sortedBy="name"
        actions={make}
        empty={
          make ? (
            <Empty title="No tenant yet" action={make}>
              A tenant comes first: projects, people and machines belong to one.
            </Empty>
          ) : (
            <Empty title="No tenant in your reach">
              You work in projects; whoever administers a tenant sees it here.
            </Empty>
          )
        }
      />
      {making && (
        <FormDialog
          title="Make a tenant"
          submitText="Make it"
          schema={objectOf(
            {
              name: NAME,
              display_name: { title: "Label", type: "string", maxLength: 200 },
            },
            "name",
          )}
          onClose={() => setMaking(false)}
          submit={({ name, display_name }, key) =>
            call(
              api.POST("/api/v1/tenants", {
                body: {
                  name: String(name),
                  ...(display_name === undefined ? {} : { display_name: String(display_name) }),
                },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        />
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<Tenant>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, display_name }) => <Link href={`/tenants/${id}`}>{display_name}</Link>,
    value: ({ display_name, name }) => `${display_name} ${name}`,
    rowHeader: true,
  },
  {
    id: "active",
    header: "Active",
    cell: ({ active }) => (active ? "Yes" : "No"),
    value: (one) => String(one.active),
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
];
