/** The projects of a tenant. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { sessionRead } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";

type Project = Schemas["Project"];

export function Projects({ orgId }: { readonly orgId: string }) {
  const can = useCan();
  const [making, setMaking] = useState(false);
  const path = { org_id: orgId };
  const list = useList(
    `tenant-projects:${orgId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/tenants/{org_id}/projects", {
          params: { path, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.project") },
  );
  const make = can("identity.project.create", { org_id: orgId, project_id: null }) && (
    <Button onClick={() => setMaking(true)}>Make a project</Button>
  );
  return (
    <>
      <DataTable
        name="projects"
        title="Projects"
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        sortedBy="name"
        actions={make}
        empty={
          <Empty title="No project yet" action={make}>
            Machines, instances and people meet in projects.
          </Empty>
        }
      />
      {making && (
        <FormDialog
          title="Make a project"
          submitText="Make it"
          schema={objectOf(
            { name: NAME, display_name: { title: "Label", type: "string", maxLength: 200 } },
            "name",
          )}
          onClose={() => setMaking(false)}
          submit={async ({ name, display_name }, key) => {
            await call(
              api.POST("/api/v1/tenants/{org_id}/projects", {
                params: { path },
                body: {
                  name: String(name),
                  ...(display_name === undefined ? {} : { display_name: String(display_name) }),
                },
                headers: { "Idempotency-Key": key },
              }),
            );
            await sessionRead();
          }}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<Project>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, display_name }) => <Link href={`/projects/${id}/instances`}>{display_name}</Link>,
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
