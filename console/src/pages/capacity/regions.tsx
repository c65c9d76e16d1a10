/** Places where nodes are. */

import Button from "@cloudscape-design/components/button";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import { isJsonObject, type Schemas } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf } from "../../forms/own-schemas.ts";
import { useList } from "../../live/use-list.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Prose } from "../../widgets/prose.tsx";

type Region = Schemas["Region"];

export function Regions() {
  const manages = useCan()("capacity.region.manage");
  const [making, setMaking] = useState(false);
  const list = useList(
    "region-list",
    (cursor, signal) =>
      call(api.GET("/api/v1/regions", { params: { query: pageQuery(cursor) }, signal })),
    { on: ({ type }) => type.startsWith("capacity.region") },
  );
  const make = manages && <Button onClick={() => setMaking(true)}>Add a region</Button>;
  return (
    <>
      <DataTable
        name="regions"
        title="Regions"
        list={list}
        idOf={({ id }) => id}
        columns={COLUMNS}
        actions={make}
        empty={
          <Empty title="No region yet" action={make}>
            Every node is in one.
          </Empty>
        }
      />
      {making && (
        <FormDialog
          title="Add a region"
          submitText="Add"
          schema={objectOf(
            {
              name: NAME,
              display_name: { title: "Label", type: "string", minLength: 1, maxLength: 200 },
              provider: {
                ...NAME,
                title: "Provider",
                default: "enrolled",
                "x-help":
                  "“enrolled” for hosts that are there already, or an installed provider that makes machines.",
              },
              provider_options: {
                title: "Options of the provider",
                type: "object",
                "x-widget": "json",
              },
            },
            "name",
            "display_name",
          )}
          onClose={() => setMaking(false)}
          submit={({ name, display_name, provider, provider_options }, key) =>
            call(
              api.POST("/api/v1/regions", {
                body: {
                  name: String(name),
                  display_name: String(display_name),
                  ...(provider === undefined ? {} : { provider: String(provider) }),
                  ...(isJsonObject(provider_options) ? { provider_options } : {}),
                },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<Region>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "label",
    header: "Label",
    cell: ({ display_name }) => display_name,
    value: (one) => one.display_name,
  },
  {
    id: "provider",
    header: "Provider",
    cell: ({ provider }) => provider,
    value: ({ provider }) => provider,
  },
  {
    id: "cleaning",
    header: "Between tenants",
    cell: ({ cleaning_meaning }) => <Prose>{cleaning_meaning}</Prose>,
    value: ({ cleaning }) => cleaning,
    minWidth: 260,
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: (one) => one.created_at,
  },
];
