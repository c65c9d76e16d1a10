/** Runtime secrets of a project: named, versioned, never shown. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Json, JsonObject, Place, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { type Change, changeColumn } from "../../widgets/change-column.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { findable } from "../../widgets/named.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";

type Secret = Schemas["RuntimeSecret"];

const VALUE: JsonObject = {
  title: "Value",
  type: "string",
  "x-widget": "password",
  "x-help": "Left empty, the platform makes a random one that nobody has seen.",
};
const DAYS: JsonObject = {
  title: "For how many days",
  type: "integer",
  minimum: 1,
  maximum: 366,
  "x-help": "Without end when left empty.",
};

export function Secrets({ place }: { readonly place: Place }) {
  const projectId = place.project_id ?? "";
  const manages = useCan()("custody.secret.manage", place);
  const [making, setMaking] = useState(false);
  const [change, setChange] = useState<Change<Secret> | null>(null);
  const list = useList(
    `secrets-list:${projectId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/runtime-secrets", {
          params: { query: { project_id: projectId, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("custody.secret") },
  );
  return (
    <>
      <DataTable
        name="secrets"
        title="Secrets"
        description="Values apps run with. Only the service account a value is sealed to can open it."
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [changeColumn(setChange)] : [])]}
        actions={manages && <Button onClick={() => setMaking(true)}>Keep a secret</Button>}
        empty={<Empty title="No secret yet">Apps make their own as a rule.</Empty>}
      />
      {making && <NewSecret projectId={projectId} onClose={() => setMaking(false)} />}
      {change !== null && <ChangeSecret change={change} onClose={() => setChange(null)} />}
    </>
  );
}

interface NewSecretProps {
  readonly projectId: string;
  readonly onClose: () => void;
}

function NewSecret({ projectId, onClose }: NewSecretProps) {
  return (
    <FormDialog
      title="Keep a secret"
      submitText="Keep it"
      schema={objectOf({ name: NAME, value: VALUE }, "name")}
      onClose={onClose}
      submit={({ name, value }, key) =>
        call(
          api.POST("/api/v1/projects/{project_id}/runtime-secrets", {
            params: { path: { project_id: projectId } },
            body: { name: String(name), ...valueOrRandom(value) },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    />
  );
}

interface ChangeSecretProps {
  readonly change: Change<Secret>;
  readonly onClose: () => void;
}

function ChangeSecret({ change: { kind, of }, onClose }: ChangeSecretProps) {
  const path = { secret_id: of.id };
  if (kind === "rotate") {
    return (
      <FormDialog
        title={`Rotate ${of.name}`}
        submitText="Rotate"
        schema={objectOf({ value: VALUE, days: DAYS })}
        onClose={onClose}
        submit={({ value, days }, key) =>
          call(
            api.POST("/api/v1/runtime-secrets/{secret_id}/rotate", {
              params: { path },
              body: {
                ...valueOrRandom(value),
                ...(days === undefined ? {} : { lease_seconds: Number(days) * 86_400 }),
              },
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      >
        {`Version ${of.version + 1} takes over at once, and the value before can be had no more. What runs with that one keeps it until it asks again.`}
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title={`Revoke ${of.name}?`}
      submitText="Revoke"
      onClose={onClose}
      submit={(_, key) =>
        call(
          api.POST("/api/v1/runtime-secrets/{secret_id}/revoke", {
            params: { path },
            body: { reason: "" },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      Its value is deleted. Whatever still needs it fails the next time it asks.
    </FormDialog>
  );
}

function valueOrRandom(value: Json | undefined) {
  if (typeof value === "string") return { value };
  return { random: { length: 32, encoding: "base64url", template: "{secret}" } } as const;
}

const COLUMNS: readonly Column<Secret>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: (one) => one.status,
  },
  {
    id: "version",
    header: "Version",
    cell: ({ version }) => version,
    value: ({ version }) => version,
  },
  {
    id: "by",
    header: "By",
    cell: ({ created_by }) => <Thing id={created_by} />,
    value: ({ created_by }) => findable(created_by),
  },
  {
    id: "until",
    header: "Ends",
    cell: ({ expires_at }) => (expires_at === null ? "No end" : <Moment at={expires_at} />),
    value: ({ expires_at }) => expires_at,
  },
];
