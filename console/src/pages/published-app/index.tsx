/** One app for its publisher: its versions, and what can be done with each. A manifest never changes: a
 * correction is a new version. */

import Button from "@cloudscape-design/components/button";
import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import type { PageProps } from "../../app/router.tsx";
import { useList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Page, ReadProblem } from "../../widgets/page.tsx";
import { Status } from "../../widgets/status.tsx";
import { NewVersion } from "./new-version.tsx";
import { type VersionChange, VersionDialog } from "./version-dialog.tsx";

type Summary = Schemas["AppVersionSummary"];

export default function PublishedAppPage({ params }: PageProps) {
  const slug = params.slug ?? "";
  const can = useCan();
  const publishes = can("catalog.app.publish");
  const [adding, setAdding] = useState(false);
  const [changing, setChanging] = useState<VersionChange | null>(null);
  const app = useLive(
    `app:${slug}`,
    (signal) => call(api.GET("/api/v1/apps/{slug}", { params: { path: { slug } }, signal })),
    { on: ({ type }) => type.startsWith("catalog.") },
  );
  const versions = useList(
    `versions:${slug}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/apps/{slug}/versions", {
          params: { path: { slug }, query: pageQuery(cursor) },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("catalog.") },
  );
  const add = publishes && <Button onClick={() => setAdding(true)}>Add a version</Button>;
  return (
    <Page title={app.value?.display_name ?? slug} description={app.value?.description}>
      <ReadProblem live={app} />
      <DataTable
        name="versions"
        title="Versions"
        list={versions}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(publishes ? [changeColumn(setChanging)] : [])]}
        actions={add}
        empty={
          <Empty title="No version yet" action={add}>
            A version is a number and a manifest.
          </Empty>
        }
      />
      {adding && <NewVersion slug={slug} onClose={() => setAdding(false)} />}
      {changing !== null && <VersionDialog change={changing} onClose={() => setChanging(null)} />}
    </Page>
  );
}

const COLUMNS: readonly Column<Summary>[] = [
  {
    id: "version",
    header: "Version",
    cell: ({ version }) => version,
    value: (one) => one.version,
    rowHeader: true,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ status }) => <Status word={status} />,
    value: (one) => one.status,
  },
  {
    id: "package",
    header: "Package",
    cell: ({ package_version }) => package_version || null,
    value: (one) => one.package_version,
  },
  {
    id: "says",
    header: "What to know",
    cell: ({ message, notes, replacement }) =>
      [message || notes, replacement && `Use ${replacement} instead.`].filter(Boolean).join(" ") ||
      null,
    value: ({ message, notes }) => message || notes,
  },
  {
    id: "digest",
    header: "Manifest",
    cell: ({ digest }) => <code>{digest.slice(0, 19)}…</code>,
    value: (one) => one.digest,
  },
  {
    id: "since",
    header: "Published",
    cell: ({ published_at }) => <Moment at={published_at} />,
    value: (one) => one.published_at,
  },
];

const CHANGES: Readonly<Record<Summary["status"], readonly VersionChange["kind"][]>> = {
  draft: ["publish", "withdraw"],
  published: ["deprecate", "withdraw"],
  deprecated: ["publish", "withdraw"],
  withdrawn: [],
};

function changeColumn(open: (change: VersionChange) => void): Column<Summary> {
  return {
    id: "change",
    header: "Change",
    cell: (of) => {
      const kinds = CHANGES[of.status];
      if (kinds.length === 0) return null;
      return (
        <ButtonDropdown
          variant="inline-icon"
          ariaLabel={`Change ${of.version}`}
          items={kinds.map((kind) => ({ id: kind, text: LABELS[kind] }))}
          onItemClick={({ detail }) => {
            const kind = kinds.find((one) => one === detail.id);
            if (kind !== undefined) open({ kind, of });
          }}
        />
      );
    },
  };
}

const LABELS: Readonly<Record<VersionChange["kind"], string>> = {
  publish: "Publish",
  deprecate: "Deprecate",
  withdraw: "Withdraw",
};
