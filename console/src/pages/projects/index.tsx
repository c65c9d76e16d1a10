/** Every project in reach. */

import Link from "@cloudscape-design/components/link";
import { useCan } from "../../app/access.ts";
import { type Project, useProjects, useTenantNames } from "../../app/place.ts";
import { wholeList } from "../../live/use-list.ts";
import { DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Page } from "../../widgets/page.tsx";
import { Thing } from "../../widgets/thing.tsx";

export default function ProjectsPage() {
  const projects = useProjects();
  const tenants = useTenantNames();
  const can = useCan();
  const tenantOf = ({ org_id }: Project) => tenants.get(org_id) ?? org_id;
  return (
    <Page
      title="Projects"
      description="Where you may work. The one you choose is the one the navigation is about."
    >
      <DataTable
        name="projects"
        title="Projects"
        list={{
          ...wholeList(projects.value),
          problem: projects.problem,
          readNow: projects.readNow,
        }}
        idOf={({ id }) => id}
        sortedBy="name"
        columns={[
          {
            id: "name",
            header: "Name",
            cell: ({ id, display_name }) => (
              <Link href={`/projects/${id}/instances`}>{display_name}</Link>
            ),
            value: ({ display_name, name }) => `${display_name} ${name}`,
            rowHeader: true,
          },
          {
            id: "tenant",
            header: "Tenant",
            cell: (project) =>
              can("identity.tenant.read", { org_id: project.org_id, project_id: null }) ? (
                <Thing id={project.org_id}>{tenantOf(project)}</Thing>
              ) : (
                tenantOf(project)
              ),
            value: tenantOf,
          },
          {
            id: "created",
            header: "Created",
            cell: ({ created_at }) => <Moment at={created_at} />,
            value: ({ created_at }) => created_at,
          },
        ]}
        empty={
          <Empty title="You are in no project">
            A tenant's administrator adds people to projects.
          </Empty>
        }
      />
    </Page>
  );
}
