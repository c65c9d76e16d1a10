/** One app as a project sees it: what it is, what it needs, its versions with honest labels, and its bounds
 * here for whoever sets them. */

import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { api, call } from "../../api/client.ts";
import type { Manifest, Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { useProject } from "../../app/place.ts";
import type { PageProps } from "../../app/router.tsx";
import { readSkus } from "../../forms/use-offers.ts";
import { rowWhere, wholeList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { billedText, priceRange } from "../../manifest/billing.ts";
import { useManifest } from "../../manifest/use-manifest.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { EntitlementTable } from "../../widgets/entitlements.tsx";
import { Later, Loaded, Page } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { sentence } from "../../widgets/words.ts";

type App = Schemas["ProjectApp"];
type Version = Schemas["ProjectAppVersion"];

export default function AppPage({ params }: PageProps) {
  const { project_id: projectId = "", slug = "" } = params;
  const app = useLive(
    `project-app:${projectId}:${slug}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/apps/{slug}", {
          params: { path: { project_id: projectId, slug } },
          signal,
        }),
      ),
    {
      on: ({ type }) => type.startsWith("catalog."),
      seed: () => rowWhere<App>(`catalog:${projectId}`, (app) => app.slug === slug),
    },
  );
  const project = useProject();
  const can = useCan();
  const place = project === null ? undefined : { org_id: project.org_id, project_id: project.id };
  const version = app.value?.latest_available ?? app.value?.versions[0]?.version ?? null;
  const manifest = useManifest(slug, version).value?.manifest ?? null;
  const deployable = app.value?.available === true && can("apps.instance.create", place);
  return (
    <Page
      title={app.value?.display_name ?? slug}
      description={app.value?.description}
      actions={
        deployable && (
          <Button variant="primary" href={`/projects/${projectId}/catalog/${slug}/deploy`}>
            Deploy
          </Button>
        )
      }
    >
      <Loaded live={app}>
        {(found) => (
          <SpaceBetween size="l">
            {manifest !== null && <Needs manifest={manifest} app={found} />}
            <Versions versions={found.versions} />
            {can("catalog.entitlement.read", place) && (
              <Later>
                <EntitlementTable scope={{ kind: "project", id: projectId }} slug={slug} />
              </Later>
            )}
          </SpaceBetween>
        )}
      </Loaded>
    </Page>
  );
}

/** What an app needs and does, as its team declared it. */
function Needs({ manifest, app }: { readonly manifest: Manifest; readonly app: App }) {
  const skus = useLive("skus", readSkus, { later: true }).value ?? [];
  return (
    <Container
      header={
        <Header
          variant="h2"
          description={manifest.summary === app.description ? undefined : manifest.summary}
        >
          What it is
        </Header>
      }
    >
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Published by", value: app.publisher },
          { label: "Package", value: manifest.package_version || "–" },
          {
            label: "Needs",
            value: (
              <ul className="plain-list">
                {manifest.components.map(({ key, title, description, min_members = 0 }) => (
                  <li key={key}>
                    {title}
                    {min_members > 0 && ` (at least ${min_members})`}
                    {description && `: ${description}`}
                  </li>
                ))}
              </ul>
            ),
          },
          {
            label: "Shapes",
            value: (
              <ul className="plain-list">
                {manifest.topologies.map(({ key, title, description }) => (
                  <li key={key}>
                    {title}
                    {description && `: ${description}`}
                  </li>
                ))}
              </ul>
            ),
          },
          {
            label: "Costs",
            value: [billedText(manifest), priceRange(skus)].filter(Boolean).join(" "),
          },
          {
            label: "When it is taken down",
            value: `It destroys: ${manifest.lifecycle.delete.destroys}`,
          },
          { label: "Reaches machines by", value: manifest.machine_access.map(sentence).join(", ") },
          {
            label: "Runbook",
            value: (
              <Link href={manifest.runbook_url} external>
                For operators
              </Link>
            ),
          },
        ]}
      />
    </Container>
  );
}

function Versions({ versions }: { readonly versions: readonly Version[] }) {
  return (
    <DataTable
      name="versions"
      title="Versions"
      list={wholeList(versions)}
      idOf={({ version }) => version}
      columns={COLUMNS}
      empty={<Empty title="No version is published" />}
    />
  );
}

const COLUMNS: readonly Column<Version>[] = [
  {
    id: "version",
    header: "Version",
    cell: ({ version }) => version,
    value: ({ version }) => version,
    rowHeader: true,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: ({ status }) => status,
  },
  {
    id: "here",
    header: "Can be deployed here",
    cell: (version) => whetherHere(version),
    value: (version) => whetherHere(version),
  },
  {
    id: "message",
    header: "What to know",
    cell: (version) => toKnow(version) || null,
    value: (version) => toKnow(version),
  },
];

function whetherHere({ available, reasons }: Version): string {
  return available ? "Yes" : reasons.map(({ message }) => message).join(" ") || "No";
}

function toKnow({ message, replacement }: Version): string {
  return [message, replacement && `Use ${replacement} instead.`].filter(Boolean).join(" ");
}
