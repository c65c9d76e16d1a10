/** Roles held at a place: by whom, until when; given and taken away by whoever may. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../api/client.ts";
import type { JsonObject, Place, Schemas, Scope } from "../api/contract.ts";
import { EVERY_PAGE, pageQuery, readPages } from "../api/pages.ts";
import { useCan } from "../app/access.ts";
import { sessionRead } from "../app/session.ts";
import { FormDialog } from "../forms/form-dialog.tsx";
import { choice, objectOf } from "../forms/own-schemas.ts";
import { useList } from "../live/use-list.ts";
import { type Live, useLive } from "../live/use-live.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { Moment } from "./moment.tsx";
import { ReadDialog } from "./read-dialog.tsx";
import { Thing } from "./thing.tsx";
import { sentence } from "./words.ts";

type Binding = Schemas["RoleBinding"];
type Role = Schemas["Role"];

const GIVE = "Give a role";

interface BindingTableProps {
  readonly place: Place;
  readonly title?: string;
}

export function BindingTable({ place, title = "Roles" }: BindingTableProps) {
  const can = useCan();
  const manages = can("identity.binding.manage", place);
  const [giving, setGiving] = useState(false);
  const [taking, setTaking] = useState<Binding | null>(null);
  const where = {
    ...(place.org_id === null ? {} : { org_id: place.org_id }),
    ...(place.project_id === null ? {} : { project_id: place.project_id }),
  };
  const list = useList(
    can("identity.binding.read", place) ? `bindings:${JSON.stringify(where)}` : null,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/role-bindings", {
          params: { query: { ...where, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.role_binding") },
  );
  if (!can("identity.binding.read", place)) return null;
  return (
    <>
      <DataTable
        name="bindings"
        title={title}
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [takeColumn(setTaking)] : [])]}
        actions={manages && <Button onClick={() => setGiving(true)}>{GIVE}</Button>}
        empty={
          <Empty title="Nobody holds a role here">
            Give somebody a role by their email address.
          </Empty>
        }
      />
      {giving && <GiveRole place={place} onClose={() => setGiving(false)} />}
      {taking !== null && (
        <FormDialog
          title={`Take ${sentence(taking.role_name)} from ${taking.principal_name}?`}
          submitText="Take away"
          onClose={() => setTaking(null)}
          submit={async (_, key) => {
            await call(
              api.DELETE("/api/v1/role-bindings/{binding_id}", {
                params: { path: { binding_id: taking.id } },
                headers: { "Idempotency-Key": key },
              }),
            );
            await sessionRead();
          }}
        >
          It holds no longer from this moment on.
        </FormDialog>
      )}
    </>
  );
}

interface GiveRoleProps {
  readonly place: Place;
  readonly onClose: () => void;
}

function GiveRole({ place, onClose }: GiveRoleProps) {
  return (
    <ReadDialog title={GIVE} live={useRoles(place.org_id)} onClose={onClose}>
      {(roles) => <GiveOneOf roles={roles} place={place} onClose={onClose} />}
    </ReadDialog>
  );
}

interface GiveOneOfProps extends GiveRoleProps {
  readonly roles: readonly Role[];
}

function GiveOneOf({ roles, place, onClose }: GiveOneOfProps) {
  const schema = objectOf(
    {
      email: {
        title: "Email",
        type: "string",
        pattern: "^[^@\\s]+@[^@\\s]+$",
        "x-pattern-help": "is the address the person signs in with",
      },
      role: roleChoice(roles),
      days: {
        title: "For how many days",
        type: "integer",
        minimum: 1,
        maximum: 730,
        "x-help": "Without end when left empty.",
      },
    },
    "email",
    "role",
  );
  return (
    <FormDialog
      title={GIVE}
      submitText="Give it"
      schema={schema}
      onClose={onClose}
      submit={async ({ email, role, days }, key) => {
        await call(
          api.POST("/api/v1/role-bindings", {
            body: {
              email: String(email),
              role: String(role),
              scope: scopeOf(place),
              ...(days === undefined ? {} : { expires_in_seconds: Number(days) * 86_400 }),
            },
            headers: { "Idempotency-Key": key },
          }),
        );
        await sessionRead();
      }}
    >
      Nobody gives what they do not hold: a role with more than your own is refused.
    </FormDialog>
  );
}

export function roleChoice(roles: readonly Role[]): JsonObject {
  return choice(
    "Role",
    roles.map(({ id, name, description }) => ({
      value: id,
      label: description ? `${sentence(name)} – ${description}` : sentence(name),
    })),
  );
}

export function scopeOf({ org_id, project_id }: Place): Scope {
  if (project_id !== null) return { kind: "project", org_id, project_id };
  return org_id === null ? { kind: "platform" } : { kind: "tenant", org_id };
}

export function useRoles(orgId: string | null): Live<readonly Role[]> {
  const read = async (signal: AbortSignal) => {
    const { items } = await readPages(
      (cursor) =>
        call(
          api.GET("/api/v1/roles", {
            params: {
              query: { ...pageQuery(cursor), ...(orgId === null ? {} : { org_id: orgId }) },
            },
            signal,
          }),
        ),
      EVERY_PAGE,
      signal,
    );
    return items;
  };
  return useLive(`roles:${orgId ?? ""}`, read, {
    on: ({ type }) => type.startsWith("identity.role."),
  });
}

const COLUMNS: readonly Column<Binding>[] = [
  {
    id: "who",
    header: "Who",
    cell: ({ principal_id, principal_name, principal_kind }) =>
      principal_kind === "user" ? (
        principal_name
      ) : (
        <>
          <Thing id={principal_id}>{principal_name}</Thing> (service account)
        </>
      ),
    value: ({ principal_name }) => principal_name,
    rowHeader: true,
  },
  {
    id: "role",
    header: "Role",
    cell: ({ role_name }) => sentence(role_name),
    value: ({ role_name }) => role_name,
  },
  {
    id: "where",
    header: "Where",
    cell: ({ scope }) => (
      <Thing id={scope.project_id ?? scope.org_id ?? ""}>{sentence(scope.kind)}</Thing>
    ),
    value: ({ scope }) => scope.kind,
  },
  {
    id: "source",
    header: "By",
    cell: ({ source }) => sentence(source),
    value: ({ source }) => source,
  },
  {
    id: "until",
    header: "Until",
    cell: ({ expires_at }) => (expires_at === null ? "No end" : <Moment at={expires_at} />),
    value: ({ expires_at }) => expires_at,
  },
];

function takeColumn(take: (binding: Binding) => void): Column<Binding> {
  return {
    id: "take",
    header: "Take away",
    cell: (binding) =>
      binding.source === "direct" && (
        <Button
          variant="inline-link"
          ariaLabel={`Take away ${binding.role_name} from ${binding.principal_name}`}
          onClick={() => take(binding)}
        >
          Take away
        </Button>
      ),
  };
}
