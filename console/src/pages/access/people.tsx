/** The people of a project, with the roles they hold here or in the tenant. */

import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { api, call } from "../../api/client.ts";
import type { Place, Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useList } from "../../live/use-list.ts";
import { BindingTable } from "../../widgets/bindings.tsx";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { sentence } from "../../widgets/words.ts";

type Person = Schemas["Person"];

export function People({ place }: { readonly place: Place }) {
  const projectId = place.project_id ?? "";
  const list = useList(
    `people:${projectId}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/people", {
          params: { path: { project_id: projectId }, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("identity.") },
  );
  return (
    <SpaceBetween size="l">
      <DataTable
        name="people"
        title="People"
        list={list}
        idOf={({ user_id }) => user_id}
        columns={COLUMNS}
        sortedBy="email"
        empty={<Empty title="Nobody yet" />}
      />
      <BindingTable place={place} title="Roles held here" />
    </SpaceBetween>
  );
}

/** Of others, for those who may not read role bindings. */
const NOT_SHOWN = "Not shown to you";

const COLUMNS: readonly Column<Person>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ display_name, email }) => display_name || email,
    value: ({ display_name }) => display_name,
    rowHeader: true,
  },
  { id: "email", header: "Email", cell: ({ email }) => email, value: ({ email }) => email },
  {
    id: "active",
    header: "Active",
    cell: ({ active }) =>
      active ? "Yes" : <StatusIndicator type="stopped">Shut out</StatusIndicator>,
    value: ({ active }) => (active ? "yes" : "shut out"),
  },
  {
    id: "roles",
    header: "Roles",
    cell: ({ roles }) => (roles === null ? NOT_SHOWN : roles.map(sentence).join(", ")),
    value: ({ roles }) => (roles ?? []).join(" "),
  },
  {
    id: "machine",
    header: "On machines",
    cell: ({ posix_name, posix_uid }) => `${posix_name} (${posix_uid})`,
    value: ({ posix_name }) => posix_name,
  },
  {
    id: "can",
    header: "May do",
    cell: ({ permissions }) => (permissions === null ? NOT_SHOWN : `${permissions.length} things`),
    value: ({ permissions }) => permissions?.length ?? 0,
  },
];
