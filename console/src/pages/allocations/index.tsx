/** The machines a project holds, and the way to get another one. */

import Button from "@cloudscape-design/components/button";
import Toggle from "@cloudscape-design/components/toggle";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas, Sku } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import { HELD } from "../../api/states.ts";
import { useCan } from "../../app/access.ts";
import { useProject } from "../../app/place.ts";
import { type PageProps, useQuery } from "../../app/router.tsx";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { choice, NAME, objectOf } from "../../forms/own-schemas.ts";
import { readSkus } from "../../forms/use-offers.ts";
import { useList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { money, skuText } from "../../manifest/price.ts";
import { AllocationTable } from "../../widgets/allocation-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { Page } from "../../widgets/page.tsx";
import { ReadDialog } from "../../widgets/read-dialog.tsx";
import { readRegions } from "../../widgets/regions.ts";

const GET = "Get an allocation";

export default function AllocationsPage({ params }: PageProps) {
  const projectId = params.project_id ?? "";
  const project = useProject();
  const can = useCan();
  const [released, setReleased] = useQuery("released");
  const [open, setOpen] = useState(false);
  const skus = useLive("skus", readSkus);
  const list = useList(
    `allocations:${projectId}:${released}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/allocations", {
          params: {
            query: {
              project_id: projectId,
              ...pageQuery(cursor),
              ...(released === "1" ? {} : { status: HELD }),
            },
          },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("capacity.") || type.startsWith("apps.") },
  );
  const items =
    list.items?.map((allocation) => ({
      allocation,
      sku: skus.value?.find(({ name }) => name === allocation.sku) ?? null,
    })) ?? null;
  const place = { org_id: project?.org_id ?? null, project_id: projectId };
  const gets = can("capacity.allocation.create", place);
  const regions = useLive(gets ? "regions" : null, readRegions, { later: true });
  const close = () => setOpen(false);
  const get = gets && <Button onClick={() => setOpen(true)}>{GET}</Button>;
  return (
    <Page
      title="Allocations"
      description="Machines this project holds. An app runs on allocations, never on host names."
    >
      <AllocationTable
        list={{ ...list, items }}
        actions={get}
        filters={
          <Toggle
            checked={released === "1"}
            onChange={({ detail }) => setReleased(detail.checked ? "1" : "")}
          >
            Released ones too
          </Toggle>
        }
        empty={
          <Empty title="This project holds no machine yet" action={get}>
            Get one of the kinds the platform offers; it is billed by the hour until it is released.
          </Empty>
        }
      />
      {open && (
        <ReadDialog title={GET} live={skus} onClose={close}>
          {(kinds) => (
            <ReadDialog title={GET} live={regions} onClose={close}>
              {(places) => (
                <NewAllocation
                  projectId={projectId}
                  skus={kinds}
                  regions={places}
                  onClose={close}
                />
              )}
            </ReadDialog>
          )}
        </ReadDialog>
      )}
    </Page>
  );
}

interface NewAllocationProps {
  readonly projectId: string;
  readonly skus: readonly Sku[];
  readonly regions: readonly Schemas["Region"][];
  readonly onClose: () => void;
}

function NewAllocation({ projectId, skus, regions, onClose }: NewAllocationProps) {
  const schema = objectOf(
    {
      name: NAME,
      sku: choice(
        "Kind",
        skus.map((sku) => ({ value: sku.name, label: skuLabel(sku) })),
      ),
      region: choice(
        "Region",
        regions.map(({ name, display_name }) => ({ value: name, label: display_name })),
      ),
    },
    "name",
    "sku",
    "region",
  );
  return (
    <FormDialog
      title={GET}
      submitText="Get it"
      schema={schema}
      onClose={onClose}
      submit={(value: JsonObject, key) =>
        call(
          api.POST("/api/v1/projects/{project_id}/allocations", {
            params: { path: { project_id: projectId } },
            body: {
              name: String(value.name),
              sku: String(value.sku),
              region: String(value.region),
              scheduler_type: "",
            },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      A machine of this kind is held for the project and billed to it from now until it is released.
    </FormDialog>
  );
}

function skuLabel(sku: Sku): string {
  return `${sku.display_name} – ${skuText(sku)} – ${money(Number(sku.price_per_hour), sku.currency)} per hour`;
}
