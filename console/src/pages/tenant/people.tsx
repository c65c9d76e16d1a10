/** The people whose accounts a tenant manages. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";

type User = Schemas["User"];

export function People({ orgId }: { readonly orgId: string }) {
  const manages = useCan()("identity.user.manage", { org_id: orgId, project_id: null });
  const [making, setMaking] = useState(false);
  const [changing, setChanging] = useState<User | null>(null);
  const list = useList(
    `users:${orgId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/users", {
          params: { query: { org_id: orgId, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.user") },
  );
  return (
    <>
      <DataTable
        name="people"
        title="People"
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [changeColumn(setChanging)] : [])]}
        sortedBy="email"
        actions={manages && <Button onClick={() => setMaking(true)}>Add a person</Button>}
        empty={
          <Empty title="Nobody yet">
            People come by invitation, or through the organisation's sign-in.
          </Empty>
        }
      />
      {making && <NewPerson orgId={orgId} onClose={() => setMaking(false)} />}
      {changing !== null && (
        <FormDialog
          title={
            changing.active ? `Shut ${changing.email} out?` : `Let ${changing.email} in again?`
          }
          submitText={changing.active ? "Shut out" : "Let in"}
          onClose={() => setChanging(null)}
          submit={(_, key) =>
            call(
              api.PATCH("/api/v1/users/{user_id}", {
                params: { path: { user_id: changing.id } },
                body: { active: !changing.active },
                headers: { "Idempotency-Key": key, "If-Match": `"${changing.revision}"` },
              }),
            )
          }
        >
          {changing.active
            ? "From this moment on they can do nothing here: their sessions and tokens end, and apps are told to shut them out. What they made and the roles they hold stay."
            : "They sign in as before, with the roles they still hold; apps are told to let them in again."}
        </FormDialog>
      )}
    </>
  );
}

interface NewPersonProps {
  readonly orgId: string;
  readonly onClose: () => void;
}

function NewPerson({ orgId, onClose }: NewPersonProps) {
  return (
    <FormDialog
      title="Add a person"
      submitText="Add"
      schema={objectOf(
        {
          email: {
            title: "Email",
            type: "string",
            pattern: "^[^@\\s]+@[^@\\s]+$",
            "x-pattern-help": "is an email address",
          },
          display_name: { title: "Name", type: "string", maxLength: 200 },
          password: {
            title: "First password",
            type: "string",
            minLength: 12,
            maxLength: 256,
            "x-widget": "password",
            "x-help": "Left empty, the person signs in through the organisation's provider.",
          },
        },
        "email",
      )}
      onClose={onClose}
      submit={({ email, display_name, password }, key) =>
        call(
          api.POST("/api/v1/tenants/{org_id}/users", {
            params: { path: { org_id: orgId } },
            body: {
              email: String(email),
              ...(display_name === undefined ? {} : { display_name: String(display_name) }),
              ...(password === undefined ? {} : { password: String(password) }),
            },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      Give them a role afterwards: without one they can see nothing.
    </FormDialog>
  );
}

const COLUMNS: readonly Column<User>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, display_name, email }) => (
      <Link href={`/people/${id}`}>{display_name || email}</Link>
    ),
    value: ({ display_name }) => display_name,
    rowHeader: true,
  },
  { id: "email", header: "Email", cell: ({ email }) => email, value: ({ email }) => email },
  {
    id: "active",
    header: "Active",
    cell: ({ active }) =>
      active ? "Yes" : <StatusIndicator type="stopped">Shut out</StatusIndicator>,
    value: ({ active }) => (active ? "yes" : "shut out"),
  },
  {
    id: "how",
    header: "Signs in",
    cell: ({ has_password }) => signsIn(has_password),
    value: ({ has_password }) => signsIn(has_password),
  },
  {
    id: "seen",
    header: "Last signed in",
    cell: ({ last_sign_in_at }) => <Moment at={last_sign_in_at} />,
    value: ({ last_sign_in_at }) => last_sign_in_at,
  },
];

function changeColumn(open: (user: User) => void): Column<User> {
  return {
    id: "change",
    header: "Change",
    cell: (user) => (
      <Button
        variant="inline-link"
        ariaLabel={`${user.active ? "Shut out" : "Let in"} ${user.email}`}
        onClick={() => open(user)}
      >
        {user.active ? "Shut out" : "Let in"}
      </Button>
    ),
  };
}

function signsIn(hasPassword: boolean): string {
  return hasPassword ? "With a password" : "Through the provider";
}
