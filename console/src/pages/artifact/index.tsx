/** One artifact: what it is, how far it is trusted, what can be done with it, and which machines took it. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery, readPages } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { placeOf } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { useLive } from "../../live/use-live.ts";
import { concernsArtifacts } from "../../widgets/artifacts.tsx";
import { Copy } from "../../widgets/copy.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { bytes, shortId } from "../../widgets/words.ts";
import { ArtifactDialog, CHANGES, type Change, TITLES } from "./change.tsx";
import { Fetched } from "./fetched.tsx";

type Artifact = Schemas["Artifact"];

const MOST_PAGES = 5;

export default function ArtifactPage({ params }: PageProps) {
  const id = params.artifact_id ?? "";
  const artifact = useLive(
    `artifact:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/artifacts/{artifact_id}", {
          params: { path: { artifact_id: id } },
          signal,
        }),
      ),
    { on: concernsArtifacts, everyMs: 5_000 },
  );
  const [change, setChange] = useState<Change | null>(null);
  const found = artifact.value;
  return (
    <Page
      title={found === null ? "Artifact" : `${found.name} ${found.version}`}
      description={found?.description}
      actions={found !== null && <Changes artifact={found} onChange={setChange} />}
    >
      <Loaded live={artifact}>
        {(read) => (
          <SpaceBetween size="l">
            <Warnings artifact={read} />
            <Facts artifact={read} />
            <Fetched artifactId={read.id} />
          </SpaceBetween>
        )}
      </Loaded>
      {found !== null && change !== null && (
        <ArtifactDialog artifact={found} change={change} onClose={() => setChange(null)} />
      )}
    </Page>
  );
}

interface ChangesProps {
  readonly artifact: Artifact;
  readonly onChange: (change: Change) => void;
}

/** What its state and the person's roles allow. */
function Changes({ artifact, onChange }: ChangesProps) {
  const can = useCan();
  const place = placeOf(artifact);
  const allowed = CHANGES[artifact.status].filter((change) =>
    can(
      change === "sign" || change === "cancel"
        ? "artifacts.artifact.publish"
        : "artifacts.artifact.promote",
      place,
    ),
  );
  return (
    <SpaceBetween direction="horizontal" size="xs">
      {allowed.map((change) => (
        <Button key={change} onClick={() => onChange(change)}>
          {TITLES[change]}
        </Button>
      ))}
    </SpaceBetween>
  );
}

function Warnings({ artifact }: { readonly artifact: Artifact }) {
  const { status, status_reason, trust, trust_reason } = artifact;
  const bad = trust === "failed_verification" || trust === "revoked" || status === "failed";
  const said = [status_reason, trust === "verified" ? "" : trust_reason].filter(Boolean);
  if (said.length === 0) return null;
  return (
    <Alert type={bad ? "error" : "info"}>
      {said.map((one) => (
        <div key={one}>{one}</div>
      ))}
    </Alert>
  );
}

function Facts({ artifact }: { readonly artifact: Artifact }) {
  const { digest, size, source_id, source_address, correlation_id, key_id, channels } = artifact;
  return (
    <Container>
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Status", value: <Status word={artifact.status} /> },
          { label: "Trust", value: <Status word={artifact.trust} /> },
          { label: "Channels", value: channels.join(", ") || "None" },
          {
            label: "Source",
            value: <Link href={`/artifact-sources/${source_id}`}>{source_address}</Link>,
          },
          { label: "For", value: artifact.platform },
          { label: "Size", value: size === null ? "–" : bytes(size) },
          {
            label: "Digest",
            value: digest === null ? "Not known yet" : <Copy text={digest} what="the digest" />,
          },
          {
            label: "Vouched for by",
            value: key_id === null ? "No key" : <KeyName sourceId={source_id} keyId={key_id} />,
          },
          { label: "Published", value: <Moment at={artifact.published_at} /> },
          { label: "By", value: <Thing id={artifact.created_by} /> },
          {
            label: "Correlation id",
            value: (
              <Link href={`/correlations/${encodeURIComponent(correlation_id)}`}>
                {correlation_id}
              </Link>
            ),
          },
          { label: "Id", value: <Copy text={artifact.id} what="the id" /> },
        ]}
      />
    </Container>
  );
}

interface KeyNameProps {
  readonly sourceId: string;
  readonly keyId: string;
}

/** What the source calls the key; its id for whoever may not read the keys of the source. */
function KeyName({ sourceId, keyId }: KeyNameProps) {
  const keys = useLive(
    `source-keys:${sourceId}`,
    async (signal) => {
      const path = { source_id: sourceId };
      const { items } = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/artifact-sources/{source_id}/keys", {
              params: { path, query: pageQuery(cursor) },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return items;
    },
    { on: concernsArtifacts, later: true },
  );
  const name = keys.value?.find(({ id }) => id === keyId)?.name;
  return <span title={keyId}>{name ?? shortId(keyId)}</span>;
}
