/** The instances of a project. */

import Button from "@cloudscape-design/components/button";
import Toggle from "@cloudscape-design/components/toggle";
import { api, call } from "../../api/client.ts";
import { pageQuery } from "../../api/pages.ts";
import { LIVING } from "../../api/states.ts";
import type { PageProps } from "../../app/router.tsx";
import { useQuery } from "../../app/router.tsx";
import { useList } from "../../live/use-list.ts";
import { DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { INSTANCE_COLUMNS } from "../../widgets/instance-columns.tsx";
import { Page } from "../../widgets/page.tsx";

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
        columns={INSTANCE_COLUMNS}
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
