/** The service accounts of a project: identities for controllers and automation. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Place, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { useRoles } from "../../widgets/bindings.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { ReadDialog } from "../../widgets/read-dialog.tsx";
import { sentence } from "../../widgets/words.ts";

type Account = Schemas["ServiceAccount"];

const MAKE = "Make a service account";

export function ServiceAccounts({ place }: { readonly place: Place }) {
  const projectId = place.project_id ?? "";
  const can = useCan();
  const [making, setMaking] = useState(false);
  const list = useList(
    `accounts:${projectId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/service-accounts", {
          params: { path: { project_id: projectId }, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.service_account") },
  );
  const make = can("identity.service_account.manage", place) && (
    <Button onClick={() => setMaking(true)}>{MAKE}</Button>
  );
  return (
    <>
      <DataTable
        name="accounts"
        title="Service accounts"
        description="An app's controller signs in as one. It acts in this project alone."
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        actions={make}
        empty={
          <Empty title="No service account yet" action={make}>
            An app's controller needs one with the role “App operator”.
          </Empty>
        }
      />
      {making && <NewAccount place={place} onClose={() => setMaking(false)} />}
    </>
  );
}

interface NewAccountProps {
  readonly place: Place;
  readonly onClose: () => void;
}

function NewAccount({ place, onClose }: NewAccountProps) {
  return (
    <ReadDialog title={MAKE} live={useRoles(place.org_id)} onClose={onClose}>
      {(roles) => <MakeAccount roles={roles} place={place} onClose={onClose} />}
    </ReadDialog>
  );
}

interface MakeAccountProps extends NewAccountProps {
  readonly roles: readonly Schemas["Role"][];
}

function MakeAccount({ roles, place, onClose }: MakeAccountProps) {
  return (
    <FormDialog
      title={MAKE}
      submitText="Make it"
      onClose={onClose}
      schema={objectOf(
        {
          name: NAME,
          description: {
            title: "What for",
            type: "string",
            maxLength: 2000,
            "x-widget": "textarea",
          },
          roles: {
            title: "Roles",
            type: "array",
            items: {
              type: "string",
              "x-widget": "multiselect",
              oneOf: roles.map(({ id, name }) => ({ const: id, title: sentence(name) })),
            },
            default: ["app_operator"],
          },
        },
        "name",
      )}
      submit={({ name, description, roles: chosen }, key) =>
        call(
          api.POST("/api/v1/projects/{project_id}/service-accounts", {
            params: { path: { project_id: place.project_id ?? "" } },
            body: {
              name: String(name),
              description: String(description ?? ""),
              roles: Array.isArray(chosen) ? chosen.map(String) : [],
            },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    />
  );
}

const COLUMNS: readonly Column<Account>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, name }) => <Link href={`/service-accounts/${id}`}>{name}</Link>,
    value: ({ name, id }) => `${name} ${id}`,
    rowHeader: true,
  },
  {
    id: "roles",
    header: "Roles",
    cell: ({ roles }) => roles.map(sentence).join(", ") || null,
    value: ({ roles }) => roles.join(" "),
  },
  {
    id: "active",
    header: "Active",
    cell: ({ active }) => (active ? "Yes" : "No"),
    value: (one) => String(one.active),
  },
  {
    id: "about",
    header: "What for",
    cell: ({ description }) => description || null,
    value: (one) => one.description,
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
];
