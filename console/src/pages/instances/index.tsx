/** The instances of a project. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import Toggle from "@cloudscape-design/components/toggle";
import { api, call } from "../../api/client.ts";
import type { AppInstance } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { LIVING } from "../../api/states.ts";
import type { PageProps } from "../../app/router.tsx";
import { useQuery } from "../../app/router.tsx";
import { useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Page } from "../../widgets/page.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { Status } from "../../widgets/status.tsx";
import { sentence } from "../../widgets/words.ts";

export default function InstancesPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const [gone, setGone] = useQuery("gone");
  const list = useList(
    `instances:${projectId}:${gone}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/app-instances", {
          params: {
            path: { project_id: projectId },
            query: { ...pageQuery(cursor), ...(gone === "1" ? {} : { status: LIVING }) },
          },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("apps.") },
  );
  return (
    <Page title="Instances" description="What this project runs.">
      <DataTable
        name="instances"
        title="Instances"
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        sortedBy="-created"
        filters={
          <Toggle
            checked={gone === "1"}
            onChange={({ detail }) => setGone(detail.checked ? "1" : "")}
          >
            Deleted ones too
          </Toggle>
        }
        actions={<Button href={`/projects/${projectId}/catalog`}>Go to the catalog</Button>}
        empty={
          <Empty
            title="Nothing runs here yet"
            action={<Button href={`/projects/${projectId}/catalog`}>Choose an app</Button>}
          >
            Choose an app in the catalog and name the machines it shall run on.
          </Empty>
        }
      />
    </Page>
  );
}

const COLUMNS: readonly Column<AppInstance>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ id, resource_name, display_name }) => (
      <Link href={`/instances/${id}`}>{display_name || resource_name}</Link>
    ),
    value: ({ resource_name, display_name, id }) => `${display_name} ${resource_name} ${id}`,
    rowHeader: true,
  },
  {
    id: "app",
    header: "App",
    cell: ({ project_id, app_slug, app_version }) => (
      <Link
        href={`/projects/${project_id}/catalog/${app_slug}`}
      >{`${app_slug} ${app_version}`}</Link>
    ),
    value: ({ app_slug, app_version }) => `${app_slug} ${app_version}`,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: (one) => one.status,
  },
  {
    id: "health",
    header: "Health",
    cell: ({ health }) => <Status word={health} />,
    value: (one) => one.health,
  },
  {
    id: "topology",
    header: "Topology",
    cell: ({ topology }) => sentence(topology),
    value: ({ topology }) => topology,
  },
  {
    id: "says",
    header: "What the app says",
    cell: ({ adapter_detail }) =>
      adapter_detail?.summary ? <Prose>{adapter_detail.summary}</Prose> : null,
    value: ({ adapter_detail }) => adapter_detail?.summary,
  },
  {
    id: "created",
    header: "Created",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: ({ created_at }) => created_at,
  },
];
