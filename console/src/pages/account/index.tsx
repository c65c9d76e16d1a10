/** One's own account: what one may do where, the password, second factors, sessions, tokens for scripts. */

import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Whoami } from "../../api/contract.ts";
import { displayName, session } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useStore } from "../../live/store.ts";
import { wholeList } from "../../live/use-list.ts";
import { Copy } from "../../widgets/copy.tsx";
import { END_TOKENS, Sessions, SignInFailures, TokenNames } from "../../widgets/credentials.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Page } from "../../widgets/page.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { sentence } from "../../widgets/words.ts";
import { OwnTokens } from "./make-token.tsx";
import { SecondFactors } from "./second-factors.tsx";

export default function AccountPage() {
  const current = useStore(session);
  if (!("who" in current)) return null;
  const { who } = current;
  if (who.second_factor_due) {
    return (
      <Page title="Your account">
        <SecondFactors due />
      </Page>
    );
  }
  return (
    <Page title="Your account">
      <Me who={who} />
      <SignInFailures />
      <DataTable
        name="roles"
        title="Your roles"
        list={wholeList(who.bindings)}
        idOf={({ binding_id }) => binding_id}
        columns={ROLES}
        empty={
          <Empty title="You hold no role">
            An administrator of a tenant or a project gives you one.
          </Empty>
        }
      />
      <SecondFactors due={false} />
      <Sessions />
      <OwnTokens who={who} />
    </Page>
  );
}

function Me({ who }: { readonly who: Whoami }) {
  const [changing, setChanging] = useState(false);
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={<Button onClick={() => setChanging(true)}>Change the password</Button>}
        >
          {displayName(who)}
        </Header>
      }
    >
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Email", value: who.email ?? "–" },
          { label: "Home", value: sentence(who.home.kind) },
          { label: "Id", value: <Copy text={who.id} what="your id" /> },
        ]}
      />
      {changing && (
        <FormDialog
          title="Change the password"
          submitText="Change it"
          schema={objectOf(
            {
              current_password: {
                title: "Present password",
                type: "string",
                "x-widget": "password",
              },
              password: {
                title: "New password",
                type: "string",
                minLength: 12,
                maxLength: 256,
                "x-widget": "password",
                "x-help": "Several unrelated words make a good one.",
              },
              end_tokens: END_TOKENS,
            },
            "current_password",
            "password",
          )}
          onClose={() => setChanging(false)}
          submit={({ current_password, password, end_tokens }, key) =>
            call(
              api.PUT("/api/v1/users/{user_id}/password", {
                params: { path: { user_id: who.id } },
                body: {
                  password: String(password),
                  current_password: String(current_password),
                  end_tokens: end_tokens !== false,
                },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          Your other sessions end.
          <TokenNames />
        </FormDialog>
      )}
    </Container>
  );
}

function whereOf({ project_name, org_name, kind }: Whoami["bindings"][number]["scope"]): string {
  return project_name ?? org_name ?? sentence(kind);
}

const ROLES: readonly Column<Whoami["bindings"][number]>[] = [
  {
    id: "role",
    header: "Role",
    cell: ({ role_name }) => sentence(role_name),
    value: ({ role_name }) => role_name,
    rowHeader: true,
  },
  {
    id: "where",
    header: "Where",
    cell: ({ scope }) => (
      <Thing id={scope.project_id ?? scope.org_id ?? ""}>{whereOf(scope)}</Thing>
    ),
    value: ({ scope }) => whereOf(scope),
  },
  { id: "by", header: "By", cell: ({ source }) => sentence(source), value: ({ source }) => source },
  {
    id: "until",
    header: "Until",
    cell: ({ expires_at }) => (expires_at === null ? "No end" : <Moment at={expires_at} />),
    value: ({ expires_at }) => expires_at,
  },
];
