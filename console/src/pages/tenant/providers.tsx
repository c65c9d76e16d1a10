/** Identity providers of a tenant: people sign in through them to accounts of this tenant only. */

import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { Copy } from "../../widgets/copy.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Status } from "../../widgets/status.tsx";

type Provider = Schemas["IdentityProvider"];
type Doing = { readonly what: "stop" | "start" | "remove" | "check"; readonly provider: Provider };

const ADD = "Add a provider";

export function Providers({ orgId }: { readonly orgId: string }) {
  const manages = useCan()("identity.provider.manage", { org_id: orgId, project_id: null });
  const [adding, setAdding] = useState(false);
  const [doing, setDoing] = useState<Doing | null>(null);
  const list = useList(
    `identity-providers:${orgId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/tenants/{org_id}/identity-providers", {
          params: { path: { org_id: orgId }, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: ({ type }) => /^identity\.(provider|domain)\./.test(type) },
  );
  return (
    <>
      <DataTable
        name="identity-providers"
        title="Identity providers"
        description="People sign in through them to accounts of this tenant only, at its own domains."
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [changeColumn(setDoing)] : [])]}
        actions={manages && <Button onClick={() => setAdding(true)}>{ADD}</Button>}
        empty={
          <Empty title="No provider of its own">
            People sign in with a password, or through the platform operator's provider.
          </Empty>
        }
      />
      {adding && <AddProvider orgId={orgId} onClose={() => setAdding(false)} />}
      {doing !== null && <Change doing={doing} onClose={() => setDoing(null)} />}
    </>
  );
}

const TEXT: JsonObject = { type: "string", minLength: 1, maxLength: 500 };
const PROVIDER = objectOf(
  {
    name: { ...TEXT, title: "Name", maxLength: 200, "x-help": "What the sign-in button calls it." },
    issuer: {
      ...TEXT,
      title: "Issuer",
      pattern: "^https?://[!-~]+$",
      "x-pattern-help": "is the provider's address, such as https://id.example.org",
    },
    client_id: { ...TEXT, title: "Client id", "x-help": "As the provider names the platform." },
    client_secret: {
      ...TEXT,
      title: "Client secret",
      maxLength: 1000,
      "x-widget": "password",
      "x-help": "Left empty for a public client. It is never shown again.",
    },
    create_users: {
      title: "Make accounts for people of our domains",
      type: "boolean",
      default: true,
    },
    trust_email: {
      title: "Trust its addresses",
      type: "boolean",
      default: false,
      "x-help":
        "For a provider that never marks addresses as verified, and lets no one choose their own.",
    },
  },
  "name",
  "issuer",
  "client_id",
);

interface AddProviderProps {
  readonly orgId: string;
  readonly onClose: () => void;
}

function AddProvider({ orgId, onClose }: AddProviderProps) {
  return (
    <FormDialog
      title={ADD}
      submitText="Add"
      schema={PROVIDER}
      onClose={onClose}
      submit={(value, key) =>
        call(
          api.POST("/api/v1/tenants/{org_id}/identity-providers", {
            params: { path: { org_id: orgId } },
            body: {
              name: String(value.name),
              issuer: String(value.issuer),
              client_id: String(value.client_id),
              create_users: value.create_users === true,
              trust_email: value.trust_email === true,
              ...(value.client_secret === undefined
                ? {}
                : { client_secret: String(value.client_secret) }),
            },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      It signs people in as anybody of this tenant at its domains: add only what your organisation
      runs.
    </FormDialog>
  );
}

const WORDS = {
  stop: {
    title: "Stop sign-in through",
    submit: "Stop",
    text: "It signs no one in until it is allowed again.",
  },
  start: { title: "Allow sign-in through", submit: "Allow", text: "People sign in through it." },
  check: {
    title: "Check",
    submit: "Check",
    text: "The platform reads the provider's description and keys now.",
  },
  remove: {
    title: "Remove",
    submit: "Remove",
    text: "Its links to accounts and its group mappings go too, and its people are signed out.",
  },
} as const;

function Change({ doing, onClose }: { readonly doing: Doing; readonly onClose: () => void }) {
  const { what, provider } = doing;
  const words = WORDS[what];
  return (
    <FormDialog
      title={`${words.title} ${provider.name}?`}
      submitText={words.submit}
      onClose={onClose}
      submit={(_, key) => send(doing, key)}
    >
      {words.text}
    </FormDialog>
  );
}

async function send({ what, provider }: Doing, key: string): Promise<unknown> {
  const params = { path: { provider_id: provider.id } };
  const headers = { "Idempotency-Key": key };
  if (what === "check") {
    return call(api.POST("/api/v1/identity-providers/{provider_id}/check", { params, headers }));
  }
  if (what === "remove") {
    return call(api.DELETE("/api/v1/identity-providers/{provider_id}", { params, headers }));
  }
  return call(
    api.PATCH("/api/v1/identity-providers/{provider_id}", {
      params,
      body: { active: what === "start" },
      headers,
    }),
  );
}

const NEXT: Readonly<Record<string, string>> = {
  claim_domain: "Claim a domain below",
  check: "Check it again",
  activate: "Allow sign-in",
};

const COLUMNS: readonly Column<Provider>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "state",
    header: "State",
    cell: ({ state }) => <Status word={state} />,
    value: ({ state }) => state,
  },
  {
    id: "next",
    header: "Next",
    cell: ({ next_action, problem }) =>
      next_action === null || next_action === undefined
        ? "Nothing to do"
        : `${NEXT[next_action] ?? next_action}${problem ? `. ${problem}` : ""}`,
  },
  { id: "issuer", header: "Issuer", cell: ({ issuer }) => issuer, value: ({ issuer }) => issuer },
  {
    id: "link",
    header: "Page for its people",
    cell: ({ sign_in_path }) => (
      <Copy text={`${window.location.origin}${sign_in_path}`} what="the address" shown="Copy" />
    ),
  },
  {
    id: "redirect",
    header: "Register at the provider",
    cell: ({ redirect_path }) => (
      <Copy text={`${window.location.origin}${redirect_path}`} what="the callback" shown="Copy" />
    ),
  },
  {
    id: "checked",
    header: "Checked",
    cell: ({ checked_at }) => <Moment at={checked_at} />,
    value: ({ checked_at }) => checked_at,
  },
];

function changeColumn(set: (doing: Doing) => void): Column<Provider> {
  return {
    id: "change",
    header: "Change",
    cell: (provider) => {
      const button = (what: Doing["what"], text: string) => (
        <Button
          variant="inline-link"
          ariaLabel={`${text} ${provider.name}`}
          onClick={() => set({ what, provider })}
        >
          {text}
        </Button>
      );
      return (
        <SpaceBetween direction="horizontal" size="xs">
          {button("check", "Check")}
          {provider.active ? button("stop", "Stop") : button("start", "Allow")}
          {button("remove", "Remove")}
        </SpaceBetween>
      );
    },
  };
}
