/** Access to a machine by certificate: asked for with a public key, listed, ended before its time. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Allocation, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { placeOf } from "../../app/place.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { useAtTime } from "../../live/use-now.ts";
import { CopyBlock } from "../../widgets/copy.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { findable } from "../../widgets/named.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";

type Grant = Schemas["AccessGrant"];

const ASKED = objectOf(
  {
    public_key: {
      title: "Your public key",
      type: "string",
      pattern: "^(ssh|ecdsa)-[a-z0-9-]+ [A-Za-z0-9+/=]+( [ -~]*)?$",
      "x-pattern-help": "is one line as in ~/.ssh/id_ed25519.pub",
      "x-widget": "textarea",
    },
    login: {
      title: "As whom",
      type: "string",
      "x-widget": "radio",
      default: "person",
      oneOf: [
        { const: "person", title: "As yourself, where an app gave you an account" },
        { const: "operator", title: "As whoever runs the machine: root" },
      ],
    },
    ttl_seconds: {
      title: "For how long",
      type: "integer",
      minimum: 60,
      maximum: 900,
      default: 300,
      "x-unit": "seconds",
    },
  },
  "public_key",
);

export function GrantTable({ allocation }: { readonly allocation: Allocation }) {
  const can = useCan();
  const place = placeOf(allocation);
  const [asking, setAsking] = useState(false);
  const [issued, setIssued] = useState<Schemas["AccessGrantIssued"] | null>(null);
  const [ending, setEnding] = useState<Grant | null>(null);
  const list = useList(
    can("custody.grant.read", place) ? `grants:${allocation.id}` : null,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/access-grants", {
          params: { query: { allocation_id: allocation.id, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("custody.grant") },
  );
  if (!can("custody.grant.read", place)) return null;
  const asks = can("custody.grant.create", place) && allocation.status === "active";
  return (
    <SpaceBetween size="s">
      {issued !== null && <Issued issued={issued} onClose={() => setIssued(null)} />}
      <DataTable
        name="grants"
        title="Access by certificate"
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, endColumn(setEnding)]}
        actions={asks && <Button onClick={() => setAsking(true)}>Ask for access</Button>}
        empty={
          <Empty title="Nobody was given access yet">
            Controllers and people get certificates that end by themselves after minutes.
          </Empty>
        }
      />
      {asking && (
        <FormDialog
          title={`Access to ${allocation.name}`}
          submitText="Sign"
          schema={ASKED}
          onClose={() => setAsking(false)}
          submit={async ({ public_key, login, ttl_seconds }, key) => {
            const answer = await call(
              api.POST("/api/v1/allocations/{allocation_id}/access-grants", {
                params: { path: { allocation_id: allocation.id } },
                body: {
                  public_key: String(public_key).trim(),
                  ttl_seconds: Number(ttl_seconds ?? 300),
                  pty: true,
                  login: login === "operator" ? "operator" : "person",
                  source_address: [],
                },
                headers: { "Idempotency-Key": key },
              }),
            );
            setIssued(answer);
          }}
        />
      )}
      {ending !== null && (
        <FormDialog
          title="End this access?"
          submitText="End it"
          onClose={() => setEnding(null)}
          submit={(_, key) =>
            call(
              api.POST("/api/v1/access-grants/{grant_id}/revoke", {
                params: { path: { grant_id: ending.id } },
                body: { reason: "" },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          The certificate is put on the revocation list the machines read.
        </FormDialog>
      )}
    </SpaceBetween>
  );
}

interface IssuedProps {
  readonly issued: Schemas["AccessGrantIssued"];
  readonly onClose: () => void;
}

function Issued({ issued, onClose }: IssuedProps) {
  const file = `~/.ssh/${issued.grant.allocation_id}`;
  return (
    <Alert type="success" header="The certificate is signed" dismissible onDismiss={onClose}>
      <SpaceBetween size="s">
        <Box>
          Save it as {file}-cert.pub, the host keys as {file}.known. It ends{" "}
          <Moment at={issued.grant.valid_before} />.
        </Box>
        <CopyBlock text={issued.certificate} what="the certificate" />
        <CopyBlock text={issued.known_hosts.join("\n")} what="the host keys" />
        <CopyBlock
          text={`ssh -o CertificateFile=${file}-cert.pub -o UserKnownHostsFile=${file}.known ${issued.grant.username}@${issued.address}`}
          what="the ssh command"
        />
      </SpaceBetween>
    </Alert>
  );
}

const COLUMNS: readonly Column<Grant>[] = [
  {
    id: "who",
    header: "For",
    cell: ({ created_by }) => <Thing id={created_by} />,
    value: ({ created_by }) => findable(created_by),
    rowHeader: true,
  },
  {
    id: "key",
    header: "Key",
    cell: ({ fingerprint }) => <code>{fingerprint}</code>,
    value: (one) => one.fingerprint,
  },
  {
    id: "state",
    header: "Status",
    cell: (grant) => <State grant={grant} />,
    value: (grant) => stateOf(grant, Date.now()),
  },
  {
    id: "ends",
    header: "Ends",
    cell: ({ valid_before }) => <Moment at={valid_before} />,
    value: (one) => one.valid_before,
  },
];

/** It ends by the clock: nothing that is read says so. */
function useGrantState(grant: Grant): string {
  return useAtTime((now) => stateOf(grant, now));
}

function stateOf({ revoked_at, valid_before }: Grant, now: number): string {
  if (revoked_at !== null) return "revoked";
  return Date.parse(valid_before) < now ? "expired" : "active";
}

interface GrantProps {
  readonly grant: Grant;
}

function State({ grant }: GrantProps) {
  return <Status word={useGrantState(grant)} />;
}

function endColumn(end: (grant: Grant) => void): Column<Grant> {
  return {
    id: "end",
    header: "End",
    cell: (grant) => <EndNow grant={grant} onEnd={() => end(grant)} />,
  };
}

function EndNow({ grant, onEnd }: GrantProps & { readonly onEnd: () => void }) {
  if (useGrantState(grant) !== "active") return <Box color="text-body-secondary">–</Box>;
  return (
    <Button variant="inline-link" onClick={onEnd}>
      End now
    </Button>
  );
}
