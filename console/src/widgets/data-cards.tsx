/** A list on a phone: each row a card, which holds all that the row holds. Drawn by data-table.tsx, which knows what
 * is shown and in which order. */

import Cards, { type CardsProps } from "@cloudscape-design/components/cards";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { ReactNode } from "react";
import { type Column, type Sorting, sortingOf, sortingText } from "./arrange.ts";
import { cellOf } from "./cell.tsx";

/** What needs more room than half a card, in pixels of a table. */
const WIDE = 180;

/** What is chosen, as cards and tables both take it. */
export type Selection<T> = Pick<
  CardsProps<T>,
  "selectionType" | "selectedItems" | "onSelectionChange" | "isItemDisabled"
>;

interface DataCardsProps<T> {
  readonly title: string;
  readonly columns: readonly Column<T>[];
  readonly items: readonly T[];
  readonly idOf: (item: T) => string;
  readonly loading: boolean;
  readonly header: ReactNode;
  readonly filter: ReactNode;
  readonly pagination: ReactNode;
  readonly empty: ReactNode;
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
  readonly selection: Selection<T>;
  readonly selectionLabel: ((item: T) => string) | null;
}

export function DataCards<T>(props: DataCardsProps<T>) {
  const { title, columns, items, idOf, loading, header, filter, pagination, empty } = props;
  const { sorting, onSort, selection, selectionLabel } = props;
  const named = columns.find(({ rowHeader = false }) => rowHeader) ?? columns[0];
  const ordered = items.length > 1;
  return (
    <Cards
      header={header}
      filter={
        (filter || ordered) && (
          <SpaceBetween size="xs">
            {filter}
            {ordered && <Order {...{ title, columns, sorting, onSort }} />}
          </SpaceBetween>
        )
      }
      pagination={pagination}
      items={items}
      trackBy={idOf}
      loading={loading}
      loadingText="Reading"
      cardsPerRow={[{ cards: 1 }]}
      cardDefinition={{
        header: (item) => named && <div className="narrow">{cellOf(named, item)}</div>,
        sections: [
          {
            id: "facts",
            content: (item) => (
              <Facts columns={columns.filter((column) => column !== named)} item={item} />
            ),
          },
        ],
      }}
      ariaLabels={{
        cardsLabel: title,
        selectionGroupLabel: "Choose",
        itemSelectionLabel: (_, item) => selectionLabel?.(item) ?? "",
      }}
      {...selection}
      empty={empty}
    />
  );
}

interface FactsProps<T> {
  readonly columns: readonly Column<T>[];
  readonly item: T;
}

function Facts<T>({ columns, item }: FactsProps<T>) {
  return (
    <dl className="facts narrow">
      {columns.map((column) => (
        <div key={column.id} className={isWide(column) ? "fact fact-nested" : "fact"}>
          <dt>{column.header}</dt>
          <dd>{cellOf(column, item)}</dd>
        </div>
      ))}
    </dl>
  );
}

interface OrderProps<T> {
  readonly title: string;
  readonly columns: readonly Column<T>[];
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
}

/** What the heads of columns are for where there are columns. */
function Order<T>({ title, columns, sorting, onSort }: OrderProps<T>) {
  const options = columns
    .filter(({ value }) => value !== undefined)
    .flatMap(({ id, header }) => [
      { value: sortingText({ by: id, descending: false }), label: `Order: ${header}` },
      { value: sortingText({ by: id, descending: true }), label: `Order: ${header}, last first` },
    ]);
  const current = sorting === null ? null : sortingText(sorting);
  return (
    <Select
      options={options}
      selectedOption={options.find(({ value }) => value === current) ?? null}
      placeholder="As they come"
      ariaLabel={`Order of ${title.toLowerCase()}`}
      onChange={({ detail }) => {
        const chosen = sortingOf(detail.selectedOption.value ?? "");
        if (chosen !== null) onSort(chosen);
      }}
    />
  );
}

function isWide({ minWidth }: { readonly minWidth?: number | string }): boolean {
  return typeof minWidth === "number" && minWidth >= WIDE;
}
