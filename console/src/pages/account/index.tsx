/** One's own account: what one may do where, sessions, tokens for scripts, the password. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas, Whoami } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { displayName, session } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useStore } from "../../live/store.ts";
import { useList, wholeList } from "../../live/use-list.ts";
import { Copy, CopyBlock } from "../../widgets/copy.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Page } from "../../widgets/page.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { exact } from "../../widgets/times.ts";
import { sentence } from "../../widgets/words.ts";

type Token = Schemas["PersonalToken"];
type Session = Schemas["Session"];

export default function AccountPage() {
  const current = useStore(session);
  if (!("who" in current)) return null;
  const { who } = current;
  return (
    <Page title="Your account">
      <Me who={who} />
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
      <Tokens />
      <Sessions />
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
              },
            },
            "current_password",
            "password",
          )}
          onClose={() => setChanging(false)}
          submit={({ current_password, password }, key) =>
            call(
              api.PUT("/api/v1/users/{user_id}/password", {
                params: { path: { user_id: who.id } },
                body: { password: String(password), current_password: String(current_password) },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        />
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

const DAY_SECONDS = 86_400;

function Tokens() {
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [ending, setEnding] = useState<Token | null>(null);
  const list = useList("tokens", (cursor, signal) =>
    call(api.GET("/api/v1/personal-tokens", { params: { query: pageQuery(cursor) }, signal })),
  );
  return (
    <SpaceBetween size="s">
      {made !== null && (
        <Alert
          type="success"
          header="This token is shown once"
          dismissible
          onDismiss={() => setMade(null)}
        >
          <CopyBlock text={made} what="the token" />
        </Alert>
      )}
      <DataTable
        name="tokens"
        title="Tokens for scripts"
        description="They can do what you can, and no more."
        list={list}
        idOf={({ id }) => id}
        columns={[
          ...TOKENS,
          endColumn<Token>(
            "Revoke",
            ({ name }) => name,
            setEnding,
            ({ revoked_at }) => revoked_at === null,
          ),
        ]}
        actions={<Button onClick={() => setMaking(true)}>Make a token</Button>}
        empty={<Empty title="No token yet">The command line and scripts sign in with one.</Empty>}
      />
      {making && (
        <FormDialog
          title="Make a token"
          submitText="Make it"
          schema={objectOf(
            {
              name: { title: "Name", type: "string", minLength: 1, maxLength: 100 },
              days: {
                title: "Valid for days",
                type: "integer",
                minimum: 1,
                maximum: 365,
                default: 30,
              },
            },
            "name",
          )}
          onClose={() => setMaking(false)}
          submit={async ({ name, days }, key) => {
            const token = await call(
              api.POST("/api/v1/personal-tokens", {
                body: { name: String(name), expires_in_seconds: Number(days ?? 30) * DAY_SECONDS },
                headers: { "Idempotency-Key": key },
              }),
            );
            setMade(token.secret);
          }}
        />
      )}
      {ending !== null && (
        <FormDialog
          title={`Revoke ${ending.name}?`}
          submitText="Revoke"
          onClose={() => setEnding(null)}
          submit={(_, key) =>
            call(
              api.DELETE("/api/v1/personal-tokens/{token_id}", {
                params: { path: { token_id: ending.id } },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          Whoever uses it is out at once.
        </FormDialog>
      )}
    </SpaceBetween>
  );
}

const TOKENS: readonly Column<Token>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "used",
    header: "Last used",
    cell: ({ last_used_at }) => <Moment at={last_used_at} />,
    value: ({ last_used_at }) => last_used_at,
  },
  {
    id: "until",
    header: "Ends",
    cell: ({ expires_at, revoked_at }) =>
      revoked_at === null ? <Moment at={expires_at} /> : "Revoked",
    value: ({ expires_at }) => expires_at,
  },
];

function Sessions() {
  const [ending, setEnding] = useState<Session | null>(null);
  const list = useList("sessions", (cursor, signal) =>
    call(api.GET("/api/v1/sessions", { params: { query: pageQuery(cursor) }, signal })),
  );
  return (
    <>
      <DataTable
        name="sessions"
        title="Where you are signed in"
        list={list}
        idOf={({ id }) => id}
        columns={[
          ...SESSIONS,
          endColumn<Session>(
            "End",
            ({ created_at }) => `the session since ${exact(created_at)}`,
            setEnding,
            ({ current }) => !current,
          ),
        ]}
        empty={<Empty title="Nowhere" />}
      />
      {ending !== null && (
        <FormDialog
          title="End this session?"
          submitText="End it"
          onClose={() => setEnding(null)}
          submit={(_, key) =>
            call(
              api.DELETE("/api/v1/sessions/{session_id}", {
                params: { path: { session_id: ending.id } },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          That browser is signed out with its next request.
        </FormDialog>
      )}
    </>
  );
}

const SESSIONS: readonly Column<Session>[] = [
  {
    id: "which",
    header: "Session",
    cell: ({ id, current }) => <span title={id}>{whichBrowser(current)}</span>,
    value: ({ id, current }) => `${whichBrowser(current)} ${id}`,
    rowHeader: true,
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
  {
    id: "until",
    header: "Ends",
    cell: ({ expires_at }) => <Moment at={expires_at} />,
    value: (one) => one.expires_at,
  },
];

/** The platform keeps nothing of a browser but its sessions. */
function whichBrowser(current = false): string {
  return current ? "This browser" : "Another browser";
}

function endColumn<T>(
  label: string,
  name: (item: T) => string,
  end: (item: T) => void,
  possible: (item: T) => boolean,
): Column<T> {
  return {
    id: "end",
    header: label,
    cell: (item) =>
      possible(item) && (
        <Button
          variant="inline-link"
          ariaLabel={`${label} ${name(item)}`}
          onClick={() => end(item)}
        >
          {label}
        </Button>
      ),
  };
}
