/** Chooses one allocation, or several: those that can be chosen first, the others with the reason. On a phone each is
 * a card. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import Pagination from "@cloudscape-design/components/pagination";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import { useState } from "react";
import type { Place } from "../api/contract.ts";
import { useCan } from "../app/access.ts";
import { mayShare, seatsOf } from "../manifest/placement.ts";
import { money, skuText } from "../manifest/price.ts";
import { arrange, type Column, type Sorting } from "../widgets/arrange.ts";
import { DataCards, type Selection } from "../widgets/data-cards.tsx";
import { Empty } from "../widgets/empty.tsx";
import { findable, Named } from "../widgets/named.tsx";
import { useNarrow } from "../widgets/narrow.ts";
import { ReadProblem } from "../widgets/page.tsx";
import { Prose } from "../widgets/prose.tsx";
import { type FormContext, useFormContext, type WidgetProps } from "./context.ts";
import { list } from "./schema.ts";
import { type Offer, useOffers } from "./use-offers.ts";

export function AllocationPicker({ field, value, onChange, disabled }: WidgetProps) {
  const context = useFormContext();
  const offers = useOffers(context.place, context.instance);
  const [text, setText] = useState("");
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [page, setPage] = useState(1);
  const narrow = useNarrow();
  const many = field.schema.type === "array";
  const chosen = (many ? list(value) : [value]).filter((id) => typeof id === "string");
  const items = (offers.value ?? []).map((offer) => ({
    ...offer,
    why: offer.why ?? takenBy(context, field.pointer, offer),
  }));
  const shown = arrange(items, COLUMNS, text, sorting);
  const pages = Math.max(1, Math.ceil(shown.length / PAGE_SIZE));
  const current = Math.min(page, pages);

  const rows = {
    items: shown.slice((current - 1) * PAGE_SIZE, current * PAGE_SIZE),
    loading: offers.loading,
    filter: items.length > 5 && (
      <TextFilter
        filteringText={text}
        filteringPlaceholder="Find an allocation"
        filteringAriaLabel="Find an allocation"
        onChange={({ detail }) => {
          setText(detail.filteringText);
          setPage(1);
        }}
      />
    ),
    pagination: pages > 1 && (
      <Pagination
        currentPageIndex={current}
        pagesCount={pages}
        onChange={({ detail }) => setPage(detail.currentPageIndex)}
      />
    ),
    empty: <NoAllocation projectId={context.place.project_id} />,
  };
  const selection: Selection<Offer> = {
    selectionType: many ? "multi" : "single",
    selectedItems: items.filter(({ allocation }) => chosen.includes(allocation.id)),
    isItemDisabled: ({ why }) => disabled || why !== null,
    onSelectionChange: ({ detail }) => {
      const ids = detail.selectedItems.map(({ allocation }) => allocation.id);
      onChange(many ? ids : ids[0]);
    },
  };
  return (
    <>
      <ReadProblem live={offers} />
      {narrow ? (
        <DataCards
          title={field.title}
          columns={COLUMNS}
          idOf={idOf}
          header={null}
          {...{ sorting, selection, ...rows }}
          onSort={setSorting}
          selectionLabel={({ allocation }) => allocation.name}
        />
      ) : (
        <Table
          variant="embedded"
          contentDensity="compact"
          {...rows}
          {...selection}
          trackBy={idOf}
          loadingText="Reading the allocations"
          ariaLabels={{
            tableLabel: field.title,
            selectionGroupLabel: field.title,
            allItemsSelectionLabel: () => "Choose all",
            itemSelectionLabel: (_, { allocation }) => allocation.name,
          }}
          columnDefinitions={DEFINITIONS}
          {...(sorting === null ? {} : { sortingColumn: { sortingField: sorting.by } })}
          sortingDescending={sorting?.descending ?? false}
          onSortingChange={({ detail }) =>
            setSorting({
              by: detail.sortingColumn.sortingField ?? "",
              descending: detail.isDescending ?? false,
            })
          }
          wrapLines
        />
      )}
      {text === "" && items.length > 0 && items.every(({ why }) => why !== null) && (
        <NoneFree place={context.place} />
      )}
      {pages > 1 && (
        <Chosen offers={items.filter(({ allocation }) => chosen.includes(allocation.id))} />
      )}
    </>
  );
}

function idOf({ allocation }: Offer): string {
  return allocation.id;
}

const PAGE_SIZE = 20;

const COLUMNS: readonly Column<Offer>[] = [
  {
    id: "name",
    header: "Allocation",
    rowHeader: true,
    minWidth: 130,
    cell: ({ allocation }) => allocation.name,
    value: ({ allocation }) => `${allocation.name} ${allocation.id}`,
  },
  {
    id: "sku",
    header: "Kind and price per hour",
    minWidth: 180,
    value: ({ allocation, sku }) => `${allocation.sku} ${sku?.gpu_model ?? ""}`,
    cell: ({ allocation, sku }) =>
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
    cell: ({ allocation }) => allocation.region,
    value: ({ allocation }) => allocation.region,
  },
  {
    id: "why",
    header: "Can be chosen",
    minWidth: 200,
    value: ({ why, usedBy }) => why && `${why} ${usedBy === null ? "" : findable(usedBy)}`,
    cell: (offer) => <Choosable offer={offer} />,
  },
];

const DEFINITIONS: readonly TableProps.ColumnDefinition<Offer>[] = COLUMNS.map(
  ({ id, header, cell, rowHeader = false, minWidth }) => ({
    id,
    header,
    cell,
    isRowHeader: rowHeader,
    sortingField: id,
    ...(minWidth === undefined ? {} : { minWidth }),
  }),
);

/** What uses a machine is looked at beside the form: nothing that was filled in is lost. */
function Choosable({ offer: { why, usedBy } }: { readonly offer: Offer }) {
  if (why === null) return <StatusIndicator type="success">Yes</StatusIndicator>;
  return (
    <>
      <StatusIndicator type="stopped">No</StatusIndicator>
      <Box color="text-body-secondary">
        <Prose plain>{why}</Prose>{" "}
        {usedBy !== null && (
          <Link
            href={`/instances/${usedBy}`}
            external
            externalIconAriaLabel="Opens in a new tab"
            fontSize="inherit"
          >
            <Named id={usedBy} />
          </Link>
        )}
      </Box>
    </>
  );
}

/** What was chosen may stand on another page. */
function Chosen({ offers }: { readonly offers: readonly Offer[] }) {
  const names = offers.map(({ allocation }) => allocation.name).join(", ");
  return <Box color="text-body-secondary">{`Chosen: ${names || "none yet"}.`}</Box>;
}

/** Got beside the form, where it appears by itself: nothing that was filled in is lost. */
function NoneFree({ place }: { readonly place: Place }) {
  const can = useCan();
  return (
    <Box>
      None of them can be chosen.{" "}
      {can("capacity.allocation.create", place) && (
        <Link
          href={`/projects/${place.project_id}/allocations`}
          external
          externalIconAriaLabel="Opens in a new tab"
        >
          Get another allocation
        </Link>
      )}
    </Box>
  );
}

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
