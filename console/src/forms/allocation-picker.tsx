/** Chooses one allocation, or several: those that can be chosen first, the others with the reason. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import { useState } from "react";
import { mayShare, seatsOf } from "../manifest/placement.ts";
import { money, skuText } from "../manifest/price.ts";
import { Empty } from "../widgets/empty.tsx";
import { ReadProblem } from "../widgets/page.tsx";
import { type FormContext, useFormContext, type WidgetProps } from "./context.ts";
import { list } from "./schema.ts";
import { type Offer, useOffers } from "./use-offers.ts";

export function AllocationPicker({ field, value, onChange, disabled }: WidgetProps) {
  const context = useFormContext();
  const offers = useOffers(context.place, context.instance);
  const [text, setText] = useState("");
  const many = field.schema.type === "array";
  const chosen = (many ? list(value) : [value]).filter((id) => typeof id === "string");
  const items = (offers.value ?? []).map((offer) => ({
    ...offer,
    why: offer.why ?? takenBy(context, field.pointer, offer),
  }));
  const shown = items.filter((offer) => matches(offer, text));

  return (
    <>
      <ReadProblem live={offers} />
      <Table
        variant="embedded"
        contentDensity="compact"
        items={shown}
        trackBy={({ allocation }) => allocation.id}
        loading={offers.loading}
        loadingText="Reading the allocations"
        selectionType={many ? "multi" : "single"}
        selectedItems={items.filter(({ allocation }) => chosen.includes(allocation.id))}
        isItemDisabled={({ why }) => disabled || why !== null}
        onSelectionChange={({ detail }) => {
          const ids = detail.selectedItems.map(({ allocation }) => allocation.id);
          onChange(many ? ids : ids[0]);
        }}
        ariaLabels={{
          tableLabel: field.title,
          selectionGroupLabel: field.title,
          allItemsSelectionLabel: () => "Choose all",
          itemSelectionLabel: (_, { allocation }) => allocation.name,
        }}
        filter={
          items.length > 5 && (
            <TextFilter
              filteringText={text}
              filteringPlaceholder="Find an allocation"
              filteringAriaLabel="Find an allocation"
              onChange={({ detail }) => setText(detail.filteringText)}
            />
          )
        }
        columnDefinitions={COLUMNS}
        wrapLines
        empty={<NoAllocation projectId={context.place.project_id} />}
      />
    </>
  );
}

const COLUMNS = [
  {
    id: "name",
    header: "Allocation",
    isRowHeader: true,
    minWidth: 120,
    cell: ({ allocation }: Offer) => allocation.name,
  },
  {
    id: "sku",
    header: "Kind and price per hour",
    minWidth: 190,
    cell: ({ allocation, sku }: Offer) =>
      sku === null ? (
        allocation.sku
      ) : (
        <>
          {allocation.sku}, {money(Number(sku.price_per_hour), sku.currency)}
          <Box color="text-body-secondary">{skuText(sku)}</Box>
        </>
      ),
  },
  {
    id: "region",
    header: "Region",
    minWidth: 100,
    cell: ({ allocation }: Offer) => allocation.region,
  },
  {
    id: "why",
    header: "Can be chosen",
    minWidth: 200,
    cell: ({ why }: Offer) =>
      why === null ? (
        <StatusIndicator type="success">Yes</StatusIndicator>
      ) : (
        <>
          <StatusIndicator type="stopped">No</StatusIndicator>
          <Box color="text-body-secondary">{why}</Box>
        </>
      ),
  },
];

function NoAllocation({ projectId }: { readonly projectId: string | null }) {
  return (
    <Empty
      title="This project holds no machine"
      action={<Button href={`/projects/${projectId}/allocations`}>Get an allocation</Button>}
    >
      An app runs on allocations the project holds.
    </Empty>
  );
}

/** Named already by another field of this form, for a component it may not share with. */
function takenBy(context: FormContext, pointer: string, { allocation }: Offer): string | null {
  const { operation, manifest, value } = context;
  if (operation === undefined || manifest === undefined) return null;
  const seats = seatsOf(operation, value).filter(
    ({ allocationId }) => allocationId === allocation.id,
  );
  const mine = (operation.placement ?? []).filter((rule) => rule.pointer === pointer);
  const other = seats.find(
    (seat) =>
      seat.pointer !== pointer &&
      mine.some(({ component }) => !mayShare(manifest, component, seat.component)),
  );
  return other === undefined ? null : "It is chosen in another field of this form.";
}

function matches({ allocation, sku }: Offer, text: string): boolean {
  const all = [
    allocation.name,
    allocation.id,
    allocation.sku,
    allocation.region,
    sku?.gpu_model ?? "",
  ];
  return all.join("\n").toLowerCase().includes(text.trim().toLowerCase());
}
