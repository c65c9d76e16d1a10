/** Private keys in custody, for machines that cannot trust the platform's authority. Entered once, never
 * shown; delivered sealed to the service account that reads them. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Place, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { type Change, changeColumn } from "../../widgets/change-column.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Status } from "../../widgets/status.tsx";

type Credential = Schemas["AccessCredential"];
type Dialog = { kind: "new" } | Change<Credential>;

const PRIVATE_KEY: JsonObject = {
  title: "Private key",
  type: "string",
  "x-widget": "textarea",
  "x-help": "As in id_ed25519, without a passphrase. It is encrypted and never shown again.",
};

export function Credentials({ place }: { readonly place: Place }) {
  const projectId = place.project_id ?? "";
  const manages = useCan()("custody.credential.manage", place);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const list = useList(
    `credentials-list:${projectId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/access-credentials", {
          params: { query: { project_id: projectId, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("custody.credential") },
  );
  const add = manages && (
    <Button onClick={() => setDialog({ kind: "new" })}>Put a key into custody</Button>
  );
  return (
    <>
      <DataTable
        name="credentials"
        title="Access credentials"
        description="For machines that cannot trust the platform's certificates."
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [changeColumn(setDialog)] : [])]}
        actions={add}
        empty={
          <Empty title="None is needed, as a rule" action={add}>
            Machines enrolled here trust certificates of minutes; nothing has to be kept for them.
          </Empty>
        }
      />
      {dialog !== null && (
        <CredentialDialog projectId={projectId} dialog={dialog} onClose={() => setDialog(null)} />
      )}
    </>
  );
}

interface CredentialDialogProps {
  readonly projectId: string;
  readonly dialog: Dialog;
  readonly onClose: () => void;
}

function CredentialDialog({ projectId, dialog, onClose }: CredentialDialogProps) {
  if (dialog.kind === "new") {
    return (
      <FormDialog
        title="Put a key into custody"
        submitText="Keep it"
        size="large"
        schema={objectOf(
          {
            name: NAME,
            username: {
              title: "User name on the machines",
              type: "string",
              pattern: "^[a-z_][a-z0-9_-]{0,31}$",
              default: "root",
            },
            private_key: PRIVATE_KEY,
          },
          "name",
          "username",
          "private_key",
        )}
        onClose={onClose}
        submit={({ name, username, private_key }, key) =>
          call(
            api.POST("/api/v1/projects/{project_id}/access-credentials", {
              params: { path: { project_id: projectId } },
              body: {
                name: String(name),
                username: String(username),
                private_key: `${String(private_key).trimEnd()}\n`,
                deliveries_max: 1000,
                expires_in_seconds: 90 * 86_400,
              },
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      />
    );
  }
  const path = { credential_id: dialog.of.id };
  if (dialog.kind === "rotate") {
    return (
      <FormDialog
        title={`Rotate ${dialog.of.name}`}
        submitText="Rotate"
        schema={objectOf({ private_key: PRIVATE_KEY }, "private_key")}
        onClose={onClose}
        submit={({ private_key }, key) =>
          call(
            api.POST("/api/v1/access-credentials/{credential_id}/rotate", {
              params: { path },
              body: { private_key: `${String(private_key).trimEnd()}\n`, overlap_seconds: 0 },
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      >
        The new key takes over at once, under an id of its own; the old one is deleted and cannot be
        delivered any more. Let the machines trust the new one first, and choose it again wherever
        the old one is chosen.
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title={`Revoke ${dialog.of.name}?`}
      submitText="Revoke"
      onClose={onClose}
      submit={(_, key) =>
        call(
          api.POST("/api/v1/access-credentials/{credential_id}/revoke", {
            params: { path },
            body: { reason: "" },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      The key is deleted. It cannot be delivered any more; remove it from the machines too.
    </FormDialog>
  );
}

const COLUMNS: readonly Column<Credential>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "user",
    header: "User",
    cell: ({ username }) => username,
    value: ({ username }) => username,
  },
  {
    id: "key",
    header: "Fingerprint",
    cell: ({ fingerprint }) => <code>{fingerprint}</code>,
    value: (one) => one.fingerprint,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: (one) => one.status,
  },
  {
    id: "deliveries",
    header: "Delivered",
    cell: ({ deliveries, deliveries_max }) => `${deliveries} of ${deliveries_max}`,
    value: ({ deliveries }) => deliveries,
  },
  {
    id: "until",
    header: "Ends",
    cell: ({ expires_at }) => <Moment at={expires_at} />,
    value: (one) => one.expires_at,
  },
];
