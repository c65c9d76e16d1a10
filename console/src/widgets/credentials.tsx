/** What a person is signed in with: sessions, tokens for scripts, and failed sign-ins to their account. Shown
 * to the person on their own page, and to administrators on the person's. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { type ReactNode, useState } from "react";
import { api, call } from "../api/client.ts";
import type { JsonObject, Schemas } from "../api/contract.ts";
import { pageQuery } from "../api/pages.ts";
import { sessionLeave } from "../app/session.ts";
import { FormDialog } from "../forms/form-dialog.tsx";
import { objectOf } from "../forms/own-schemas.ts";
import { useList } from "../live/use-list.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { Empty } from "./empty.tsx";
import { Moment } from "./moment.tsx";
import { exact } from "./times.ts";

type Token = Schemas["PersonalToken"];
type Session = Schemas["Session"];
type Failure = Schemas["SignInFailure"];

interface OwnerProps {
  /** Whose they are; undefined for one's own. */
  readonly userId?: string | undefined;
  /** Whether they can be ended here. */
  readonly manages?: boolean;
}

/** A field that asks whether tokens end too; they do unless it is taken away. */
export const END_TOKENS: JsonObject = {
  title: "End the tokens for scripts too",
  type: "boolean",
  default: true,
};

export function useTokens(userId?: string) {
  return useList<Token>(`tokens:${userId ?? "own"}`, (cursor, signal) => {
    const query = pageQuery(cursor);
    return call(
      userId === undefined
        ? api.GET("/api/v1/personal-tokens", { params: { query }, signal })
        : api.GET("/api/v1/users/{user_id}/personal-tokens", {
            params: { path: { user_id: userId }, query },
            signal,
          }),
    );
  });
}

interface TokensProps extends OwnerProps {
  readonly actions?: ReactNode;
}

export function Tokens({ userId, manages = true, actions }: TokensProps) {
  const [ending, setEnding] = useState<Token | null>(null);
  const list = useTokens(userId);
  return (
    <>
      <DataTable
        name="tokens"
        title="Tokens for scripts"
        description="They can do what their owner can, or less, and no more."
        list={list}
        idOf={({ id }) => id}
        columns={[
          ...TOKENS,
          ...(manages
            ? [
                endColumn<Token>(
                  "Revoke",
                  ({ name }) => name,
                  setEnding,
                  ({ revoked_at }) => revoked_at === null,
                ),
              ]
            : []),
        ]}
        actions={actions}
        empty={<Empty title="No token">The command line and scripts sign in with one.</Empty>}
      />
      {ending !== null && (
        <FormDialog
          title={`Revoke ${ending.name}?`}
          submitText="Revoke"
          onClose={() => setEnding(null)}
          submit={(_, key) => {
            const headers = { "Idempotency-Key": key };
            const path = { token_id: ending.id };
            return call(
              userId === undefined
                ? api.DELETE("/api/v1/personal-tokens/{token_id}", { params: { path }, headers })
                : api.DELETE("/api/v1/users/{user_id}/personal-tokens/{token_id}", {
                    params: { path: { ...path, user_id: userId } },
                    headers,
                  }),
            );
          }}
        >
          It stops working at once.
        </FormDialog>
      )}
    </>
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
    id: "may",
    header: "May do",
    cell: ({ permissions, scope }) => narrowedTo(permissions, scope),
    value: ({ permissions, scope }) => narrowedTo(permissions, scope),
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

function narrowedTo(permissions: Token["permissions"], scope: Token["scope"]): string {
  const what = permissions === null ? "All its owner may" : permissions.join(", ");
  return scope === null ? what : `${what}, in one ${scope.kind}`;
}

export function Sessions({ userId, manages = true }: OwnerProps) {
  const [ending, setEnding] = useState<Session | null>(null);
  const [leaving, setLeaving] = useState(false);
  const list = useList<Session>(`sessions:${userId ?? "own"}`, (cursor, signal) => {
    const query = pageQuery(cursor);
    return call(
      userId === undefined
        ? api.GET("/api/v1/sessions", { params: { query }, signal })
        : api.GET("/api/v1/users/{user_id}/sessions", {
            params: { path: { user_id: userId }, query },
            signal,
          }),
    );
  });
  return (
    <>
      <DataTable
        name="sessions"
        title={userId === undefined ? "Where you are signed in" : "Where they are signed in"}
        list={list}
        idOf={({ id }) => id}
        columns={[
          ...SESSIONS,
          ...(manages
            ? [
                endColumn<Session>(
                  "End",
                  ({ created_at }) => `the session since ${exact(created_at)}`,
                  setEnding,
                  ({ current }) => !current,
                ),
              ]
            : []),
        ]}
        actions={manages && <Button onClick={() => setLeaving(true)}>Sign out everywhere</Button>}
        empty={<Empty title="Nowhere" />}
      />
      {ending !== null && (
        <FormDialog
          title="End this session?"
          submitText="End it"
          onClose={() => setEnding(null)}
          submit={(_, key) => {
            const headers = { "Idempotency-Key": key };
            const path = { session_id: ending.id };
            return call(
              userId === undefined
                ? api.DELETE("/api/v1/sessions/{session_id}", { params: { path }, headers })
                : api.DELETE("/api/v1/users/{user_id}/sessions/{session_id}", {
                    params: { path: { ...path, user_id: userId } },
                    headers,
                  }),
            );
          }}
        >
          That browser is signed out with its next request.
        </FormDialog>
      )}
      {leaving && <SignOutEverywhere userId={userId} onClose={() => setLeaving(false)} />}
    </>
  );
}

interface SignOutProps {
  readonly userId: string | undefined;
  readonly onClose: () => void;
}

function SignOutEverywhere({ userId, onClose }: SignOutProps) {
  const own = userId === undefined;
  return (
    <FormDialog
      title={own ? "Sign out everywhere?" : "Sign them out everywhere?"}
      submitText="Sign out everywhere"
      schema={objectOf({ tokens: END_TOKENS })}
      onClose={onClose}
      submit={async ({ tokens }, key) => {
        const headers = { "Idempotency-Key": key };
        const query = { tokens: tokens !== false };
        if (!own) {
          const path = { user_id: userId };
          await call(
            api.DELETE("/api/v1/users/{user_id}/sessions", { params: { path, query }, headers }),
          );
          return;
        }
        await call(api.DELETE("/api/v1/sessions", { params: { query }, headers }));
        sessionLeave();
      }}
    >
      <SpaceBetween size="s">
        <div>All sessions end at once{own ? ", this one too" : ""}.</div>
        <TokenNames userId={userId} />
      </SpaceBetween>
    </FormDialog>
  );
}

/** The tokens that would go on working, by name. */
export function TokenNames({ userId }: OwnerProps) {
  const list = useTokens(userId);
  const tokens = (list.items ?? []).filter(({ revoked_at }) => revoked_at === null);
  if (tokens.length === 0) return null;
  return (
    <div>
      Tokens for scripts that work now:
      <ul>
        {tokens.map(({ id, name, expires_at }) => (
          <li key={id}>
            {name}, until <Moment at={expires_at} />
          </li>
        ))}
      </ul>
    </div>
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
    id: "source",
    header: "From",
    cell: ({ source }) => source ?? "–",
    value: ({ source }) => source ?? "",
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
  {
    id: "used",
    header: "Last used",
    cell: ({ last_used_at }) => <Moment at={last_used_at ?? null} />,
    value: ({ last_used_at }) => last_used_at ?? null,
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

/** Failed sign-ins to the account; nothing where there are none. */
export function SignInFailures({ userId }: OwnerProps) {
  const list = useList<Failure>(`sign-in-failures:${userId ?? "own"}`, (cursor, signal) => {
    const query = pageQuery(cursor);
    return call(
      userId === undefined
        ? api.GET("/api/v1/sign-in-failures", { params: { query }, signal })
        : api.GET("/api/v1/users/{user_id}/sign-in-failures", {
            params: { path: { user_id: userId }, query },
            signal,
          }),
    );
  });
  if (list.items === null || list.items.length === 0) return null;
  return (
    <SpaceBetween size="s">
      <Alert type="warning" header="There were failed sign-ins to this account">
        They do not keep the owner out. If they are not the owner's own, the password should be one
        that is used nowhere else, with a second factor beside it.
      </Alert>
      <DataTable
        name="sign-in-failures"
        title="Failed sign-ins of the last month"
        list={list}
        idOf={({ id }) => id}
        columns={FAILURES}
        empty={<Empty title="None" />}
      />
    </SpaceBetween>
  );
}

const FAILURES: readonly Column<Failure>[] = [
  {
    id: "source",
    header: "From",
    cell: ({ source }) => source,
    value: ({ source }) => source,
    rowHeader: true,
  },
  {
    id: "attempts",
    header: "Attempts",
    cell: ({ attempts }) => attempts,
    value: ({ attempts }) => attempts,
  },
  {
    id: "last",
    header: "Last",
    cell: ({ last_at }) => <Moment at={last_at} />,
    value: ({ last_at }) => last_at,
  },
];

export function endColumn<T>(
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
