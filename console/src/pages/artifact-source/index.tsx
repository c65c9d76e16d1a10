/** One source of artifacts: what it asks for, whose signatures it trusts, what it holds. */

import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { canSomewhere, useCan } from "../../app/access.ts";
import { placeOf, useTenantNames } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { session } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useStore } from "../../live/store.ts";
import { useLive } from "../../live/use-live.ts";
import { ArtifactTable, concernsArtifacts } from "../../widgets/artifacts.tsx";
import { Copy } from "../../widgets/copy.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { bytes } from "../../widgets/words.ts";
import { Keys } from "./keys.tsx";
import { Publish } from "./publish.tsx";

type Source = Schemas["ArtifactSource"];

export default function ArtifactSourcePage({ params }: PageProps) {
  const id = params.source_id ?? "";
  const source = useLive(
    `artifact-source:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/artifact-sources/{source_id}", {
          params: { path: { source_id: id } },
          signal,
        }),
      ),
    { on: concernsArtifacts },
  );
  const can = useCan();
  const [changing, setChanging] = useState(false);
  const found = source.value;
  const manages = found !== null && can("artifacts.source.manage", placeOf(found));
  return (
    <Page
      title={found?.name ?? "Source"}
      description={found?.description}
      actions={manages && <Button onClick={() => setChanging(true)}>Change</Button>}
    >
      <Loaded live={source}>
        {(read) => (
          <SpaceBetween size="l">
            <Facts source={read} />
            <Held source={read} />
            <Keys source={read} manages={manages} />
          </SpaceBetween>
        )}
      </Loaded>
      {changing && found !== null && (
        <ChangeSource source={found} onClose={() => setChanging(false)} />
      )}
    </Page>
  );
}

function Facts({ source }: { readonly source: Source }) {
  const tenants = useTenantNames();
  const { org_id } = source;
  return (
    <Container>
      <KeyValuePairs
        columns={4}
        items={[
          { label: "Status", value: <Status word={source.enabled ? "active" : "disabled"} /> },
          { label: "Address", value: <Copy text={source.address} what="the address" /> },
          {
            label: "For",
            value: org_id === null ? "Every tenant" : (tenants.get(org_id) ?? org_id),
          },
          { label: "Content", value: source.kind === "blob" ? "Uploaded" : "Pulled" },
          {
            label: "Signature",
            value: source.signature_required ? "Required" : "Not asked for",
          },
          { label: "Published by", value: source.project_publish ? "Projects too" : "Its owner" },
          { label: "Stored", value: bytes(source.bytes_used) },
        ]}
      />
    </Container>
  );
}

/** What it holds, and the way to add to it. */
function Held({ source }: { readonly source: Source }) {
  const can = useCan();
  const current = useStore(session);
  const [publishing, setPublishing] = useState(false);
  const who = "who" in current ? current.who : null;
  const permission = "artifacts.artifact.publish";
  const may =
    can(permission, placeOf(source)) || (source.project_publish && canSomewhere(who, permission));
  return (
    <>
      <ArtifactTable
        sourceId={source.id}
        actions={
          may && (
            <Button disabled={!source.enabled} onClick={() => setPublishing(true)}>
              Publish an artifact
            </Button>
          )
        }
      />
      {publishing && <Publish source={source} onClose={() => setPublishing(false)} />}
    </>
  );
}

function ChangeSource({
  source,
  onClose,
}: {
  readonly source: Source;
  readonly onClose: () => void;
}) {
  const { description, signature_required, project_publish, enabled } = source;
  return (
    <FormDialog
      title={`Change ${source.name}`}
      submitText="Save"
      initial={{ description, signature_required, project_publish, enabled }}
      schema={objectOf({
        description: { title: "Description", type: "string", maxLength: 500 },
        signature_required: {
          title: "Only what is signed by a trusted key is used",
          type: "boolean",
        },
        project_publish: {
          title: "Whoever publishes in a project of the tenant may publish here",
          type: "boolean",
        },
        enabled: {
          title: "In use",
          type: "boolean",
          "x-help": "Off: nothing of it is published, found or delivered.",
        },
      })}
      onClose={onClose}
      submit={(value, key) =>
        call(
          api.PATCH("/api/v1/artifact-sources/{source_id}", {
            params: { path: { source_id: source.id } },
            body: value as Schemas["ArtifactSourceUpdate"],
            headers: { "Idempotency-Key": key, "If-Match": `"${source.revision}"` },
          }),
        )
      }
    />
  );
}
