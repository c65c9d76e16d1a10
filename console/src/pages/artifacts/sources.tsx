/** Where artifacts come from: sources the platform shares with everybody, and those of a tenant alone. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { useProjects, useTenantNames } from "../../app/place.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { choice, NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { concernsArtifacts } from "../../widgets/artifacts.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Status } from "../../widgets/status.tsx";
import { bytes } from "../../widgets/words.ts";

type Source = Schemas["ArtifactSource"];

export function Sources() {
  const [making, setMaking] = useState(false);
  const owners = useOwners();
  const list = useList(
    "artifact-sources",
    (cursor, signal) =>
      call(api.GET("/api/v1/artifact-sources", { params: { query: pageQuery(cursor) }, signal })),
    { on: concernsArtifacts },
  );
  const make = owners.length > 0 && <Button onClick={() => setMaking(true)}>Add a source</Button>;
  return (
    <>
      <DataTable
        name="sources"
        title="Sources"
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        sortedBy="address"
        actions={make}
        empty={
          <Empty title="No source yet" action={make}>
            Files are uploaded to a source, or pulled from a registry. A tenant's own is used once
            an overlay of its policy allows the address.
          </Empty>
        }
      />
      {making && (
        <FormDialog
          title="Add a source"
          submitText="Add"
          schema={sourceSchema(owners)}
          onClose={() => setMaking(false)}
          submit={created}
        />
      )}
    </>
  );
}

const EVERYBODY = "platform";

/** For whom the person may add a source. */
function useOwners(): readonly { value: string; label: string }[] {
  const can = useCan();
  const names = useTenantNames();
  const projects = useProjects().value ?? [];
  const tenants = [...new Set([...names.keys(), ...projects.map(({ org_id }) => org_id)])];
  const own = tenants
    .filter((org_id) => can("artifacts.source.manage", { org_id, project_id: null }))
    .map((org_id) => ({ value: org_id, label: names.get(org_id) ?? org_id }));
  return can("artifacts.source.manage")
    ? [{ value: EVERYBODY, label: "Every tenant" }, ...own]
    : own;
}

function sourceSchema(owners: readonly { value: string; label: string }[]): JsonObject {
  const pulled = { "x-show-when": { pointer: "/kind", equals: "oci" } };
  return objectOf(
    {
      owner: choice("For", owners, { default: owners[0]?.value ?? EVERYBODY }),
      name: NAME,
      kind: choice(
        "Where content comes from",
        [
          { value: "blob", label: "Uploaded here" },
          { value: "oci", label: "Pulled from a registry" },
        ],
        { default: "blob" },
      ),
      address: {
        title: "Registry and repository",
        type: "string",
        maxLength: 290,
        "x-placeholder": "oci://registry.example.com/team/tools",
        ...pulled,
      },
      username: { title: "User name", type: "string", maxLength: 200, ...pulled },
      password: { title: "Password", type: "string", "x-widget": "password", ...pulled },
      description: { title: "Description", type: "string", maxLength: 500 },
      signature_required: {
        title: "Only what is signed by a trusted key is used",
        type: "boolean",
        default: false,
      },
      project_publish: {
        title: "Whoever publishes in a project of the tenant may publish here",
        type: "boolean",
        default: false,
      },
    },
    "owner",
    "name",
    "kind",
  );
}

function created(value: JsonObject, key: string): Promise<unknown> {
  const { owner, ...rest } = value;
  const sent = {
    body: rest as unknown as Schemas["ArtifactSourceCreate"],
    headers: { "Idempotency-Key": key },
  };
  return owner === EVERYBODY
    ? call(api.POST("/api/v1/artifact-sources", sent))
    : call(
        api.POST("/api/v1/tenants/{org_id}/artifact-sources", {
          params: { path: { org_id: String(owner) } },
          ...sent,
        }),
      );
}

const COLUMNS: readonly Column<Source>[] = [
  {
    id: "address",
    header: "Address",
    cell: ({ id, address }) => <Link href={`/artifact-sources/${id}`}>{address}</Link>,
    value: ({ address, name }) => `${address} ${name}`,
    rowHeader: true,
  },
  {
    id: "description",
    header: "Description",
    cell: ({ description }) => description || null,
    value: (one) => one.description,
  },
  {
    id: "kind",
    header: "Content",
    cell: ({ kind }) => (kind === "blob" ? "Uploaded" : "Pulled"),
    value: (one) => one.kind,
  },
  {
    id: "state",
    header: "Status",
    cell: ({ enabled }) => <Status word={enabled ? "active" : "disabled"} />,
    value: ({ enabled }) => (enabled ? "active" : "disabled"),
  },
  {
    id: "signed",
    header: "Signature",
    cell: ({ signature_required }) => (signature_required ? "Required" : "Not asked for"),
    value: ({ signature_required }) => (signature_required ? "required" : ""),
  },
  {
    id: "used",
    header: "Stored",
    cell: ({ bytes_used }) => bytes(bytes_used),
    value: (one) => one.bytes_used,
  },
];
