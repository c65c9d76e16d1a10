/** What is said of an instance in a row: the same columns wherever instances are listed. */

import Link from "@cloudscape-design/components/link";
import type { AppInstance } from "../api/contract.ts";
import type { Column } from "./arrange.ts";
import { Moment } from "./moment.tsx";
import { Prose } from "./prose.tsx";
import { Status } from "./status.tsx";
import { topologyName } from "./words.ts";

export const INSTANCE_COLUMNS: readonly Column<AppInstance>[] = [
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
    cell: ({ topology }) => topologyName(topology),
    value: ({ topology }) => topologyName(topology),
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
