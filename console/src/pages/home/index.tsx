/** Where one begins: what needs attention, what is being done, what runs, and the way to the first app. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { AppInstance } from "../../api/contract.ts";
import { type Project, useProject, useProjects } from "../../app/place.ts";
import { displayName, session } from "../../app/session.ts";
import { useStore } from "../../live/store.ts";
import { wholeList } from "../../live/use-list.ts";
import { DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { INSTANCE_COLUMNS } from "../../widgets/instance-columns.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { OperationTable } from "../../widgets/operation-table.tsx";
import { Page, ReadProblem } from "../../widgets/page.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { Status } from "../../widgets/status.tsx";
import { useAttention } from "./read.ts";

export default function HomePage() {
  const current = useStore(session);
  const projects = useProjects();
  const project = useProject();
  const name = "who" in current ? displayName(current.who) : "";
  return (
    <Page title={`Hello, ${name}`}>
      <ReadProblem live={projects} />
      {project !== null && <ProjectHome project={project} />}
      {projects.value?.length === 0 && <NoProject />}
    </Page>
  );
}

function ProjectHome({ project }: { readonly project: Project }) {
  const live = useAttention(project.id);
  const found = live.value;
  return (
    <SpaceBetween size="l">
      <ReadProblem live={live} />
      <DataTable
        name="attention"
        title="Needs attention"
        description={`In ${project.display_name}.`}
        list={{ ...wholeList(found?.needs ?? null), loading: live.loading }}
        idOf={({ key }) => key}
        columns={[
          {
            id: "what",
            header: "What",
            cell: ({ href, name }) => <Link href={href}>{name}</Link>,
            value: ({ name }) => name,
            rowHeader: true,
          },
          {
            id: "status",
            header: "Status",
            cell: ({ status }) => <Status word={status} />,
            value: ({ status }) => status,
          },
          {
            id: "why",
            header: "Why",
            cell: ({ why }) => why && <Prose>{why}</Prose>,
            value: ({ why }) => why,
            minWidth: 240,
          },
          {
            id: "since",
            header: "Since",
            cell: ({ since }) => <Moment at={since} />,
            value: ({ since }) => since,
          },
        ]}
        empty={
          <Empty title="Nothing needs attention">
            Instances that fail or degrade, operations that failed and machines that are set aside
            show up here.
          </Empty>
        }
      />
      {found !== null && found.open.length > 0 && (
        <OperationTable list={wholeList(found.open)} title="Under way" mixed />
      )}
      {found !== null &&
        (found.instances.length === 0 ? (
          <FirstSteps project={project} />
        ) : (
          <Running project={project} instances={found.instances} />
        ))}
    </SpaceBetween>
  );
}

interface RunningProps {
  readonly project: Project;
  readonly instances: readonly AppInstance[];
}

function Running({ project, instances }: RunningProps) {
  return (
    <DataTable
      name="instances"
      title="What runs here"
      list={wholeList(instances)}
      idOf={({ id }) => id}
      columns={INSTANCE_COLUMNS}
      sortedBy="-created"
      pageSize={10}
      actions={<Button href={`/projects/${project.id}/catalog`}>Deploy an app</Button>}
      empty={null}
    />
  );
}

function FirstSteps({ project }: { readonly project: Project }) {
  return (
    <Container header={<Header variant="h2">Begin here</Header>}>
      <SpaceBetween size="s">
        <ol className="plain-list">
          <li>
            Hold a machine: <Link href={`/projects/${project.id}/allocations`}>Allocations</Link>.
          </li>
          <li>
            Choose an app: <Link href={`/projects/${project.id}/catalog`}>Catalog</Link>.
          </li>
          <li>
            Name the machines it shall run on, look at the price, deploy, and watch it come up.
          </li>
        </ol>
        <Button variant="primary" href={`/projects/${project.id}/catalog`}>
          Go to the catalog
        </Button>
      </SpaceBetween>
    </Container>
  );
}

function NoProject() {
  return (
    <Container header={<Header variant="h2">You are in no project yet</Header>}>
      <Box>
        A tenant's administrator adds people to projects. If you administer this platform, begin
        with a <Link href="/tenants">tenant</Link> and <Link href="/admin/capacity">machines</Link>.
      </Box>
    </Container>
  );
}
