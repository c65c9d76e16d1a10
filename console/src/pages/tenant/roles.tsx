/** The roles there are in a tenant: those that come with the platform, and its own, which are bundles of
 * permissions it chose. What each allows is said; a change holds for everybody who has the role. */

import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Permission, Place, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { sessionRead } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { EditButtons } from "../../widgets/edit-buttons.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Loaded } from "../../widgets/page.tsx";
import { ReadDialog } from "../../widgets/read-dialog.tsx";
import { count, sentence } from "../../widgets/words.ts";

type Role = Schemas["Role"];
type Dialog = { kind: "new" } | { kind: "show" | "edit" | "delete"; of: Role };

export function Roles({ place }: { readonly place: Place }) {
  const orgId = place.org_id ?? "";
  const manages = useCan()("identity.role.manage", place);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const list = useList(
    `role-list:${orgId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/roles", {
          params: { query: { org_id: orgId, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.role.") },
  );
  return (
    <>
      <DataTable
        name="roles"
        title="What roles allow"
        description="A role is a name for permissions. Those of the platform cannot be changed; a tenant may have its own."
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, changeColumn(manages, setDialog)]}
        actions={manages && <Button onClick={() => setDialog({ kind: "new" })}>Make a role</Button>}
        empty={<Empty title="No role">Make one from the permissions you hold.</Empty>}
      />
      {dialog !== null && (
        <RoleDialog place={place} dialog={dialog} onClose={() => setDialog(null)} />
      )}
    </>
  );
}

interface RoleDialogProps {
  readonly place: Place;
  readonly dialog: Dialog;
  readonly onClose: () => void;
}

function RoleDialog({ place, dialog, onClose }: RoleDialogProps) {
  switch (dialog.kind) {
    case "new":
      return <EditRole place={place} edited={null} onClose={onClose} />;
    case "edit":
      return <EditRole place={place} edited={dialog.of} onClose={onClose} />;
    case "delete":
      return <DeleteRole role={dialog.of} onClose={onClose} />;
    default:
      return <Allows role={dialog.of} onClose={onClose} />;
  }
}

interface OneRoleProps {
  readonly role: Role;
  readonly onClose: () => void;
}

/** What a role allows, each in words. */
function Allows({ role, onClose }: OneRoleProps) {
  const permissions = usePermissions();
  return (
    <Modal
      visible
      size="large"
      header={`What ${sentence(role.name)} allows`}
      onDismiss={onClose}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <Loaded live={permissions}>
        {({ items }) => (
          <ul className="plain-list">
            {items
              .filter(({ key }) => role.permissions.includes(key))
              .map(({ key, description }) => (
                <li key={key}>
                  {description} (<code>{key}</code>)
                </li>
              ))}
          </ul>
        )}
      </Loaded>
    </Modal>
  );
}

interface EditRoleProps {
  readonly place: Place;
  readonly edited: Role | null;
  readonly onClose: () => void;
}

function EditRole({ place, edited, onClose }: EditRoleProps) {
  const can = useCan();
  const title = edited === null ? "Make a role" : `Change ${edited.name}`;
  return (
    <ReadDialog title={title} live={usePermissions()} onClose={onClose}>
      {({ items }) => {
        // Nobody puts in what they do not hold; what is in already stays.
        const own = items.filter(
          ({ key }) => can(key, place) || (edited?.permissions.includes(key) ?? false),
        );
        const fields = fieldsOf(own);
        return (
          <FormDialog
            title={title}
            submitText={edited === null ? "Make it" : "Save"}
            schema={
              edited === null
                ? objectOf({ name: NAME, ...fields }, "name", "permissions")
                : objectOf(fields, "permissions")
            }
            initial={
              edited === null
                ? {}
                : { description: edited.description, permissions: [...edited.permissions] }
            }
            onClose={onClose}
            submit={async (value, key) => {
              await save(place, edited, value, key);
              await sessionRead();
            }}
          >
            {edited === null
              ? "You may put in what you hold yourself in this tenant."
              : "It changes for everybody who holds the role, from this moment on."}
          </FormDialog>
        );
      }}
    </ReadDialog>
  );
}

function DeleteRole({ role, onClose }: OneRoleProps) {
  return (
    <FormDialog
      title={`Delete ${role.name}?`}
      submitText="Delete"
      onClose={onClose}
      submit={(_, key) =>
        call(
          api.DELETE("/api/v1/roles/{role_id}", {
            params: { path: { role_id: role.id } },
            headers: { "Idempotency-Key": key, "If-Match": `"${role.revision}"` },
          }),
        )
      }
    >
      Only a role that nobody holds can be deleted: take it away from everybody first.
    </FormDialog>
  );
}

function usePermissions() {
  return useLive("permissions", (signal) => call(api.GET("/api/v1/permissions", { signal })));
}

function fieldsOf(
  own: readonly { readonly key: Permission; readonly description: string }[],
): Readonly<Record<string, JsonObject>> {
  return {
    description: { title: "What it is for", type: "string", maxLength: 2000 },
    permissions: {
      title: "Permissions",
      type: "array",
      minItems: 1,
      uniqueItems: true,
      items: {
        type: "string",
        "x-widget": "multiselect",
        oneOf: own.map(({ key, description }) => ({ const: key, title: `${key}: ${description}` })),
      },
    },
  };
}

function save(
  { org_id }: Place,
  edited: Role | null,
  { name, description, permissions }: JsonObject,
  key: string,
): Promise<unknown> {
  const content = {
    description: String(description ?? ""),
    permissions: (permissions ?? []) as Permission[],
  };
  if (edited === null) {
    return call(
      api.POST("/api/v1/tenants/{org_id}/roles", {
        params: { path: { org_id: org_id ?? "" } },
        body: { name: String(name), ...content },
        headers: { "Idempotency-Key": key },
      }),
    );
  }
  return call(
    api.PATCH("/api/v1/roles/{role_id}", {
      params: { path: { role_id: edited.id } },
      body: content,
      headers: { "Idempotency-Key": key, "If-Match": `"${edited.revision}"` },
    }),
  );
}

const COLUMNS: readonly Column<Role>[] = [
  {
    id: "role",
    header: "Role",
    cell: ({ name }) => sentence(name),
    value: ({ name }) => sentence(name),
    rowHeader: true,
  },
  {
    id: "about",
    header: "What it is for",
    minWidth: 240,
    cell: ({ description }) => description,
    value: ({ description }) => description,
  },
  {
    id: "whose",
    header: "Whose",
    cell: (role) => whose(role),
    value: (role) => whose(role),
  },
];

function whose({ built_in }: Role): string {
  return built_in ? "The platform's" : "The tenant's";
}

function things({ permissions }: Role): string {
  return count(permissions.length, "thing");
}

function changeColumn(manages: boolean, open: (dialog: Dialog) => void): Column<Role> {
  return {
    id: "change",
    header: "Allows",
    value: ({ permissions }) => permissions.length,
    cell: (of) => (
      <SpaceBetween size="xs" direction="horizontal">
        <Button
          variant="inline-link"
          ariaLabel={`${things(of)} that ${of.name} allows`}
          onClick={() => open({ kind: "show", of })}
        >
          {things(of)}
        </Button>
        {manages && !of.built_in && (
          <EditButtons
            name={of.name}
            endText="Delete"
            onEdit={() => open({ kind: "edit", of })}
            onEnd={() => open({ kind: "delete", of })}
          />
        )}
      </SpaceBetween>
    ),
  };
}
