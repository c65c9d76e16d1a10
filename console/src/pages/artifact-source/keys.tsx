/** The keys whose signatures a source trusts, or did. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf, REASON } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { concernsArtifacts } from "../../widgets/artifacts.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Status } from "../../widgets/status.tsx";

type Source = Schemas["ArtifactSource"];
type Key = Schemas["ArtifactKey"];

interface KeysProps {
  readonly source: Source;
  readonly manages: boolean;
}

export function Keys({ source, manages }: KeysProps) {
  const [adding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const list = useList(
    `artifact-keys:${source.id}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/artifact-sources/{source_id}/keys", {
          params: { path: { source_id: source.id }, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: concernsArtifacts },
  );
  return (
    <>
      <DataTable
        name="keys"
        title="Trusted keys"
        list={list}
        idOf={({ id }) => id}
        columns={manages ? [...COLUMNS, revokeColumn(setRevoking)] : COLUMNS}
        actions={manages && <Button onClick={() => setAdding(true)}>Trust a key</Button>}
        empty={
          <Empty title="No key is trusted">Without one, nothing of this source is verified.</Empty>
        }
      />
      {adding && <AddKey source={source} onClose={() => setAdding(false)} />}
      {revoking !== null && <RevokeKey of={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

function AddKey({ source, onClose }: { readonly source: Source; readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Trust a key"
      submitText="Trust it"
      schema={objectOf(
        {
          name: NAME,
          public_key: {
            title: "Public key",
            type: "string",
            minLength: 1,
            maxLength: 2000,
            "x-widget": "textarea",
            "x-help": "ECDSA P-256 in PEM, as in cosign.pub.",
          },
        },
        "name",
        "public_key",
      )}
      onClose={onClose}
      submit={({ name, public_key }, key) =>
        call(
          api.POST("/api/v1/artifact-sources/{source_id}/keys", {
            params: { path: { source_id: source.id } },
            body: { name: String(name), public_key: String(public_key) },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      What it signs in this source is verified, also what is there already.
    </FormDialog>
  );
}

function RevokeKey({ of, onClose }: { readonly of: Key; readonly onClose: () => void }) {
  return (
    <FormDialog
      title={`Trust ${of.name} no longer?`}
      submitText="Revoke"
      schema={objectOf(
        {
          reason: REASON,
          distrust: {
            title: "Revoke what it vouched for too",
            type: "boolean",
            default: true,
            "x-help": "Off: that is unverified again, and may be signed by another key.",
          },
        },
        "reason",
      )}
      onClose={onClose}
      submit={({ reason, distrust }, key) =>
        call(
          api.POST("/api/v1/artifact-keys/{artifact_key_id}/revoke", {
            params: { path: { artifact_key_id: of.id } },
            body: { reason: String(reason), distrust: distrust !== false },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    />
  );
}

const COLUMNS: readonly Column<Key>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: (one) => one.name,
    rowHeader: true,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: (one) => one.status,
  },
  {
    id: "fingerprint",
    header: "Fingerprint",
    cell: ({ fingerprint }) => <code title={fingerprint}>{fingerprint.slice(0, 16)}…</code>,
    value: (one) => one.fingerprint,
  },
  {
    id: "why",
    header: "Why no longer",
    cell: ({ revoke_reason }) => revoke_reason || null,
    value: (one) => one.revoke_reason,
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
];

function revokeColumn(open: (key: Key) => void): Column<Key> {
  return {
    id: "act",
    header: "Change",
    cell: (of) =>
      of.status === "active" && (
        <Button variant="inline-link" ariaLabel={`Revoke ${of.name}`} onClick={() => open(of)}>
          Revoke
        </Button>
      ),
  };
}
