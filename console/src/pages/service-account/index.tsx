/** One service account: its roles, its keys, and the one moment in which a key is shown. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { placeOf, useProjectOf } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { type Change, changeColumn } from "../../widgets/change-column.tsx";
import { Copy, CopyBlock } from "../../widgets/copy.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { sentence } from "../../widgets/words.ts";

type Account = Schemas["ServiceAccount"];
type Key = Schemas["ServiceAccountKey"];

export default function ServiceAccountPage({ params }: PageProps) {
  const id = params.account_id ?? "";
  const account = useLive(
    `account:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/service-accounts/{account_id}", {
          params: { path: { account_id: id } },
          signal,
        }),
      ),
    { on: ({ subject }) => subject === id },
  );
  useProjectOf(account.value);
  return (
    <Page
      title={account.value?.name ?? "Service account"}
      description={account.value?.description}
      actions={account.value && <Switch account={account.value} />}
    >
      <Loaded live={account}>
        {(found) => (
          <SpaceBetween size="l">
            <Container>
              <KeyValuePairs
                columns={4}
                items={[
                  { label: "Roles", value: found.roles.map(sentence).join(", ") || "None" },
                  { label: "Active", value: found.active ? "Yes" : "No" },
                  {
                    label: "Sealing key",
                    value: found.public_key ? (
                      <Copy text={found.public_key} what="the public key" />
                    ) : (
                      "None: it cannot be given secrets"
                    ),
                  },
                  { label: "Id", value: <Copy text={found.id} what="the id" /> },
                ]}
              />
            </Container>
            <Keys account={found} />
          </SpaceBetween>
        )}
      </Loaded>
    </Page>
  );
}

/** Takes the account its access, or gives it back. */
function Switch({ account }: { readonly account: Account }) {
  const manages = useCan()("identity.service_account.manage", placeOf(account));
  const [asking, setAsking] = useState(false);
  if (!manages) return null;
  const text = account.active ? "Deactivate" : "Activate again";
  return (
    <>
      <Button onClick={() => setAsking(true)}>{text}</Button>
      {asking && (
        <FormDialog
          title={`${text} ${account.name}?`}
          submitText={text}
          onClose={() => setAsking(false)}
          submit={(_, key) =>
            call(
              api.PATCH("/api/v1/service-accounts/{account_id}", {
                params: { path: { account_id: account.id } },
                body: { active: !account.active },
                headers: { "Idempotency-Key": key, "If-Match": `"${account.revision}"` },
              }),
            )
          }
        >
          {account.active
            ? "It loses its access at once: its keys, and every token made from them, let nobody in. A controller that signs in as it takes up no more work, and what it has begun stands still. Its keys and roles stay, for when it is activated again."
            : "Its keys that have not ended let in again, with the roles it still holds."}
        </FormDialog>
      )}
    </>
  );
}

type Dialog = { kind: "new" } | Change<Key>;

function Keys({ account }: { readonly account: Account }) {
  const can = useCan();
  const manages = can("identity.service_account.manage", placeOf(account));
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [made, setMade] = useState<string | null>(null);
  const list = useList(
    `keys:${account.id}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/service-accounts/{account_id}/keys", {
          params: { path: { account_id: account.id }, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.service_account_key") },
  );
  return (
    <>
      {made !== null && (
        <Alert
          type="success"
          header="This key is shown once"
          dismissible
          onDismiss={() => setMade(null)}
        >
          <SpaceBetween size="s">
            <div>
              Put it where the controller reads it. It cannot be shown again; a lost one is revoked
              and made anew.
            </div>
            <CopyBlock text={made} what="the key" />
          </SpaceBetween>
        </Alert>
      )}
      <DataTable
        name="keys"
        title="Keys"
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [changeColumn(setDialog)] : [])]}
        actions={manages && <Button onClick={() => setDialog({ kind: "new" })}>Make a key</Button>}
        empty={<Empty title="No key yet">A key is exchanged for tokens of minutes.</Empty>}
      />
      {dialog !== null && (
        <KeyDialog
          account={account}
          dialog={dialog}
          onMade={setMade}
          onClose={() => setDialog(null)}
        />
      )}
    </>
  );
}

interface KeyDialogProps {
  readonly account: Account;
  readonly dialog: Dialog;
  readonly onMade: (secret: string) => void;
  readonly onClose: () => void;
}

const DAY_SECONDS = 86_400;

function KeyDialog({ account, dialog, onMade, onClose }: KeyDialogProps) {
  if (dialog.kind === "revoke") {
    return (
      <FormDialog
        title={`Revoke ${dialog.of.name}?`}
        submitText="Revoke"
        onClose={onClose}
        submit={(_, key) =>
          call(
            api.DELETE("/api/v1/service-account-keys/{key_id}", {
              params: { path: { key_id: dialog.of.id } },
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      >
        Whoever uses it is out at once, with every token made from it.
      </FormDialog>
    );
  }
  const old = dialog.kind === "rotate" ? dialog.of : null;
  return (
    <FormDialog
      title={old === null ? "Make a key" : `Rotate ${old.name}`}
      submitText={old === null ? "Make it" : "Rotate"}
      schema={objectOf(
        {
          name: {
            title: "Name",
            type: "string",
            minLength: 1,
            maxLength: 100,
            default: old?.name ?? "key",
          },
          days: {
            title: "Valid for days",
            type: "integer",
            minimum: 1,
            maximum: 730,
            default: 365,
          },
        },
        "name",
      )}
      onClose={onClose}
      submit={async ({ name, days }, key) => {
        const made = await call(
          api.POST("/api/v1/service-accounts/{account_id}/keys", {
            params: { path: { account_id: account.id } },
            body: {
              name: String(name),
              expires_in_seconds: Number(days ?? 365) * DAY_SECONDS,
              overlap_seconds: DAY_SECONDS,
              ...(old === null ? {} : { predecessor_id: old.id }),
            },
            headers: { "Idempotency-Key": key },
          }),
        );
        onMade(made.secret);
      }}
    >
      {old !== null && "The old key works on for a day, so that nothing stops."}
    </FormDialog>
  );
}

const COLUMNS: readonly Column<Key>[] = [
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
    id: "used",
    header: "Last used",
    cell: ({ last_used_at }) => <Moment at={last_used_at} />,
    value: (one) => one.last_used_at,
  },
  {
    id: "until",
    header: "Ends",
    cell: ({ expires_at }) => <Moment at={expires_at} />,
    value: (one) => one.expires_at,
  },
];
