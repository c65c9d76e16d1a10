/** One's own second factors and recovery codes: set up, remove, renew. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { passkeyMade, passkeysPossible } from "../../app/passkeys.ts";
import { sessionRead } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { Copy, CopyBlock } from "../../widgets/copy.tsx";
import { endColumn } from "../../widgets/credentials.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";

type Factor = Schemas["SecondFactor"];
type Begun = Schemas["SecondFactorBegun"];
type Kind = Schemas["SecondFactorKind"];

const PRESENT_PASSWORD: JsonObject = {
  title: "Present password",
  type: "string",
  "x-widget": "password",
};

export function SecondFactors({ due }: { readonly due: boolean }) {
  const [adding, setAdding] = useState<Kind | null>(null);
  const [begun, setBegun] = useState<Begun | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [removing, setRemoving] = useState<Factor | null>(null);
  const [renewing, setRenewing] = useState(false);
  const list = useList<Factor>("second-factors", (cursor, signal) =>
    call(api.GET("/api/v1/second-factors", { params: { query: pageQuery(cursor) }, signal })),
  );
  return (
    <SpaceBetween size="s">
      {due && (
        <Alert type="warning" header="Set up a second factor to go on">
          A tenant you work in requires one beside your password: a passkey, or an authenticator app
          on a phone or elsewhere.
        </Alert>
      )}
      {codes !== null && (
        <Alert
          type="success"
          header="Your recovery codes are shown once"
          dismissible
          onDismiss={() => setCodes(null)}
        >
          <SpaceBetween size="s">
            <div>
              Each signs you in once when you cannot use your app. Keep them where you keep your
              passwords.
            </div>
            <CopyBlock text={codes.join("\n")} what="the recovery codes" />
          </SpaceBetween>
        </Alert>
      )}
      <DataTable
        name="second-factors"
        title="Second factors"
        description="A sign-in with your password asks for the code of one of them."
        list={list}
        idOf={({ id }) => id}
        columns={[
          ...FACTORS,
          endColumn<Factor>(
            "Remove",
            ({ name }) => name,
            setRemoving,
            () => true,
          ),
        ]}
        actions={
          <SpaceBetween size="xs" direction="horizontal">
            {list.items !== null && list.items.length > 0 && (
              <Button onClick={() => setRenewing(true)}>New recovery codes</Button>
            )}
            {passkeysPossible() && (
              <Button onClick={() => setAdding("passkey")}>Add a passkey</Button>
            )}
            <Button onClick={() => setAdding("totp")}>Set up an authenticator app</Button>
          </SpaceBetween>
        }
        empty={<Empty title="No second factor">Your password alone signs you in.</Empty>}
      />
      {adding !== null && (
        <FormDialog
          title={adding === "totp" ? "Set up an authenticator app" : "Add a passkey"}
          submitText={adding === "totp" ? "Show the key" : "Make it"}
          schema={objectOf(
            {
              name: { title: "Name", type: "string", minLength: 1, maxLength: 100 },
              current_password: PRESENT_PASSWORD,
            },
            "name",
            "current_password",
          )}
          initial={{ name: adding === "totp" ? "Authenticator app" : "Passkey" }}
          onClose={() => setAdding(null)}
          submit={async ({ name, current_password }, key) => {
            const made = await call(
              api.POST("/api/v1/second-factors", {
                body: {
                  kind: adding,
                  name: String(name),
                  current_password: String(current_password),
                },
                headers: { "Idempotency-Key": key },
              }),
            );
            if (made.options === null || made.options === undefined) setBegun(made);
            else await confirm(made.id, { passkey: await passkeyMade(made.options) }, setCodes);
          }}
        >
          {adding === "passkey" &&
            "Your browser makes it and keeps it on this device, on a phone, or on a security key."}
        </FormDialog>
      )}
      {begun !== null && (
        <Confirm begun={begun} onClose={() => setBegun(null)} onCodes={setCodes} />
      )}
      {removing !== null && (
        <FormDialog
          title={`Remove ${removing.name}?`}
          submitText="Remove"
          schema={objectOf({ current_password: PRESENT_PASSWORD }, "current_password")}
          onClose={() => setRemoving(null)}
          submit={async ({ current_password }, key) => {
            await call(
              api.POST("/api/v1/second-factors/{factor_id}/remove", {
                params: { path: { factor_id: removing.id } },
                body: { current_password: String(current_password) },
                headers: { "Idempotency-Key": key },
              }),
            );
            await sessionRead();
          }}
        >
          Its codes sign nobody in any more. With the last factor, the recovery codes go too.
        </FormDialog>
      )}
      {renewing && (
        <FormDialog
          title="Make new recovery codes?"
          submitText="Make them"
          schema={objectOf({ current_password: PRESENT_PASSWORD }, "current_password")}
          onClose={() => setRenewing(false)}
          submit={async ({ current_password }, key) => {
            const made = await call(
              api.POST("/api/v1/recovery-codes", {
                body: { current_password: String(current_password) },
                headers: { "Idempotency-Key": key },
              }),
            );
            setCodes(made.codes);
          }}
        >
          The ones you have work no more.
        </FormDialog>
      )}
    </SpaceBetween>
  );
}

interface ConfirmProps {
  readonly begun: Begun;
  readonly onClose: () => void;
  readonly onCodes: (codes: readonly string[]) => void;
}

function Confirm({ begun, onClose, onCodes }: ConfirmProps) {
  return (
    <FormDialog
      title="Type the code your app shows"
      submitText="Confirm"
      schema={objectOf(
        { code: { title: "Code", type: "string", minLength: 6, maxLength: 20 } },
        "code",
      )}
      onClose={onClose}
      submit={({ code }) => confirm(begun.id, { code: String(code) }, onCodes)}
    >
      <SpaceBetween size="s">
        <div>Add a key to your authenticator app by hand, of the kind that is based on time:</div>
        <Copy text={begun.secret ?? ""} what="the key" />
        <div>
          Where the app is on this device, <a href={begun.uri ?? ""}>open it with the key</a>.
        </div>
      </SpaceBetween>
    </FormDialog>
  );
}

/** The first proof of a factor: from then on it counts. */
async function confirm(
  factorId: string,
  proof: Schemas["SecondFactorConfirm"],
  onCodes: (codes: readonly string[]) => void,
): Promise<void> {
  const confirmed = await call(
    api.POST("/api/v1/second-factors/{factor_id}/confirm", {
      params: { path: { factor_id: factorId } },
      body: proof,
    }),
  );
  if (confirmed.recovery_codes !== null) onCodes(confirmed.recovery_codes);
  await sessionRead();
}

const KINDS: Readonly<Record<Kind, string>> = {
  totp: "Authenticator app",
  passkey: "Passkey",
};

const FACTORS: readonly Column<Factor>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "kind",
    header: "Kind",
    cell: ({ kind }) => KINDS[kind],
    value: ({ kind }) => KINDS[kind],
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: ({ created_at }) => created_at,
  },
  {
    id: "used",
    header: "Last used",
    cell: ({ last_used_at }) => <Moment at={last_used_at} />,
    value: ({ last_used_at }) => last_used_at,
  },
];
