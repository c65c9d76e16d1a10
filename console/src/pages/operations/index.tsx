/** Everything asked of the apps of a project. */

import Select from "@cloudscape-design/components/select";
import { api, call } from "../../api/client.ts";
import type { Operation } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { useList } from "../../live/use-list.ts";
import { OperationTable } from "../../widgets/operation-table.tsx";
import { Page } from "../../widgets/page.tsx";
import { sentence } from "../../widgets/words.ts";

const STATUSES = [
  "requested",
  "accepted",
  "running",
  "succeeded",
  "failed",
  "cancelled",
  "abandoned",
] as const;
const ANY = { value: "", label: "Any status" };

export default function OperationsPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const [wanted, setWanted] = useQuery("status");
  const status = STATUSES.find((one) => one === wanted) ?? null;
  const list = useList<Operation>(
    `project-operations:${projectId}:${status ?? ""}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/operations", {
          params: {
            path: { project_id: projectId },
            query: { ...pageQuery(cursor), ...(status === null ? {} : { status: [status] }) },
          },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("apps.") },
  );
  const options = [ANY, ...STATUSES.map((value) => ({ value, label: sentence(value) }))];
  return (
    <Page
      title="Operations"
      description="What was asked of the apps of this project, and what became of it."
    >
      <OperationTable
        list={list}
        mixed
        widen={status === null ? null : () => setWanted("")}
        filters={
          <Select
            options={options}
            selectedOption={options.find(({ value }) => value === wanted) ?? ANY}
            onChange={({ detail }) => setWanted(detail.selectedOption.value ?? "")}
            ariaLabel="Status"
          />
        }
      />
    </Page>
  );
}
