/** Groups of the organisation's provider and the roles they carry in a tenant: whoever is in one has the role from
 * their next sign-in on. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Place, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { sessionRead } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { choice, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { roleChoice, scopeOf, useRoles } from "../../widgets/bindings.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { ReadDialog } from "../../widgets/read-dialog.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { sentence } from "../../widgets/words.ts";

type Mapping = Schemas["GroupMapping"];

const GIVE = "Give a group a role";

export function Groups({ place }: { readonly place: Place }) {
  const orgId = place.org_id ?? "";
  const manages = useCan()("identity.binding.manage", place);
  const [giving, setGiving] = useState(false);
  const [taking, setTaking] = useState<Mapping | null>(null);
  const list = useList(
    `group-mappings:${orgId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/group-mappings", {
          params: { query: { org_id: orgId, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.group_mapping.") },
  );
  return (
    <>
      <DataTable
        name="groups"
        title="Groups of the provider"
        description="Whoever the organisation puts into a group has its role from their next sign-in on."
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [takeColumn(setTaking)] : [])]}
        actions={manages && <Button onClick={() => setGiving(true)}>{GIVE}</Button>}
        empty={
          <Empty title="No group carries a role">
            Where people sign in with their organisation, its groups can bring their roles along.
          </Empty>
        }
      />
      {giving && <GiveGroup place={place} onClose={() => setGiving(false)} />}
      {taking !== null && <TakeFromGroup mapping={taking} onClose={() => setTaking(null)} />}
    </>
  );
}

interface GiveGroupProps {
  readonly place: Place;
  readonly onClose: () => void;
}

/** The operator's provider among the tenant's own; no provider has this id. */
const OPERATOR = "operator";

function GiveGroup({ place, onClose }: GiveGroupProps) {
  return (
    <ReadDialog title={GIVE} live={useProviders(place)} onClose={onClose}>
      {({ items }) => <GiveGroupForm place={place} providers={items} onClose={onClose} />}
    </ReadDialog>
  );
}

interface GiveGroupFormProps extends GiveGroupProps {
  readonly providers: readonly Schemas["IdentityProvider"][];
}

function GiveGroupForm({ place, providers, onClose }: GiveGroupFormProps) {
  const provider = choice(
    "Provider",
    [
      { value: OPERATOR, label: "The operator's" },
      ...providers.map(({ id, name }) => ({ value: id, label: name })),
    ],
    { default: OPERATOR, "x-help": "A group is one provider's." },
  );
  const fields = (role: JsonObject) =>
    providers.length === 0 ? { group: GROUP, role } : { provider, group: GROUP, role };
  return (
    <ReadDialog title={GIVE} live={useRoles(place.org_id)} onClose={onClose}>
      {(roles) => (
        <FormDialog
          title={GIVE}
          submitText="Give it"
          schema={objectOf(fields(roleChoice(roles)), "group", "role")}
          onClose={onClose}
          submit={({ group, role, provider = OPERATOR }, key) =>
            call(
              api.POST("/api/v1/group-mappings", {
                body: {
                  group: String(group),
                  role: String(role),
                  scope: scopeOf(place),
                  ...(provider === OPERATOR ? {} : { provider_id: String(provider) }),
                },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          The role holds in this tenant and all its projects. Nobody gives what they do not hold.
        </FormDialog>
      )}
    </ReadDialog>
  );
}

/** The tenant's own providers, as far as they may be seen. */
function useProviders(place: Place) {
  const orgId = place.org_id ?? "";
  const sees = useCan()("identity.provider.read", place);
  return useLive<{ readonly items: readonly Schemas["IdentityProvider"][] }>(
    `providers-of-groups:${orgId}`,
    async (signal) =>
      sees
        ? call(
            api.GET("/api/v1/tenants/{org_id}/identity-providers", {
              params: { path: { org_id: orgId } },
              signal,
            }),
          )
        : { items: [] },
  );
}

const GROUP = {
  title: "Group",
  type: "string",
  minLength: 1,
  maxLength: 200,
  "x-help": "As the provider writes it.",
};

interface TakeFromGroupProps {
  readonly mapping: Mapping;
  readonly onClose: () => void;
}

function TakeFromGroup({ mapping, onClose }: TakeFromGroupProps) {
  return (
    <FormDialog
      title={`Take ${sentence(mapping.role_name)} from the group ${mapping.group}?`}
      submitText="Take away"
      onClose={onClose}
      submit={async (_, key) => {
        await call(
          api.DELETE("/api/v1/group-mappings/{mapping_id}", {
            params: { path: { mapping_id: mapping.id } },
            headers: { "Idempotency-Key": key },
          }),
        );
        await sessionRead();
      }}
    >
      Whoever has the role through this group loses it, from this moment on.
    </FormDialog>
  );
}

const COLUMNS: readonly Column<Mapping>[] = [
  {
    id: "group",
    header: "Group",
    cell: ({ group }) => group,
    value: ({ group }) => group,
    rowHeader: true,
  },
  {
    id: "provider",
    header: "Provider",
    cell: ({ provider_id }) => (provider_id ? "The tenant's own" : "The operator's"),
    value: ({ provider_id }) => (provider_id ? "The tenant's own" : "The operator's"),
  },
  {
    id: "role",
    header: "Role",
    cell: ({ role_name }) => sentence(role_name),
    value: ({ role_name }) => sentence(role_name),
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
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: ({ created_at }) => created_at,
  },
];

function takeColumn(take: (mapping: Mapping) => void): Column<Mapping> {
  return {
    id: "take",
    header: "Take away",
    cell: (mapping) => (
      <Button
        variant="inline-link"
        ariaLabel={`Take ${mapping.role_name} from the group ${mapping.group}`}
        onClick={() => take(mapping)}
      >
        Take away
      </Button>
    ),
  };
}
