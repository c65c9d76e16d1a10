/** The apps the platform publishes, for publishers. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Page } from "../../widgets/page.tsx";

type App = Schemas["App"];

export default function PublishingPage() {
  const can = useCan();
  const [making, setMaking] = useState(false);
  const list = useList(
    "apps",
    (cursor, signal) =>
      call(api.GET("/api/v1/apps", { params: { query: pageQuery(cursor) }, signal })),
    { on: ({ type }) => type.startsWith("catalog.") },
  );
  const make = can("catalog.app.publish") && (
    <Button onClick={() => setMaking(true)}>Add an app</Button>
  );
  return (
    <Page
      title="Published apps"
      description="What the catalog holds. A tenant sees an app when it is entitled to it."
    >
      <DataTable
        name="apps"
        title="Apps"
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        sortedBy="name"
        actions={make}
        empty={
          <Empty title="No app yet" action={make}>
            An app is known by its manifest; it needs no change here.
          </Empty>
        }
      />
      {making && (
        <FormDialog
          title="Add an app"
          submitText="Add"
          schema={objectOf(
            {
              slug: { ...NAME, title: "Slug" },
              display_name: { title: "Name", type: "string", minLength: 1, maxLength: 120 },
              publisher: { title: "Publisher", type: "string", minLength: 1, maxLength: 120 },
              kind_label: {
                title: "Kind",
                type: "string",
                maxLength: 60,
                "x-help": "What people call this kind of app.",
              },
              description: {
                title: "Description",
                type: "string",
                maxLength: 2000,
                "x-widget": "textarea",
              },
            },
            "slug",
            "display_name",
            "publisher",
          )}
          onClose={() => setMaking(false)}
          submit={(value, key) =>
            call(
              api.POST("/api/v1/apps", {
                body: {
                  slug: String(value.slug),
                  display_name: String(value.display_name),
                  publisher: String(value.publisher),
                  kind_label: String(value.kind_label ?? ""),
                  description: String(value.description ?? ""),
                },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        />
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<App>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ slug, display_name }) => <Link href={`/admin/apps/${slug}`}>{display_name}</Link>,
    value: ({ display_name, slug }) => `${display_name} ${slug}`,
    rowHeader: true,
  },
  {
    id: "latest",
    header: "Latest version",
    cell: ({ latest_version }) => latest_version,
    value: (one) => one.latest_version,
  },
  {
    id: "publisher",
    header: "Publisher",
    cell: ({ publisher }) => publisher,
    value: (one) => one.publisher,
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
];
