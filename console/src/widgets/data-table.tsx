/** A list as people use one: filtered as they type, sorted by a click, in pages, more when they want more;
 * what they chose stands in the address, so that the link they send shows the same. On a phone each row is a card. */

import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Pagination from "@cloudscape-design/components/pagination";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import { type ReactNode, useDeferredValue, useState } from "react";
import { useQuery } from "../app/router.tsx";
import { useThrownAway } from "../live/ahead.ts";
import type { LiveList } from "../live/use-list.ts";
import { arrange, type Column, type Sorting, sortingOf, sortingText } from "./arrange.ts";
import { cellOf } from "./cell.tsx";
import { DataCards, type Selection } from "./data-cards.tsx";
import { Empty } from "./empty.tsx";
import { useNarrow } from "./narrow.ts";
import { ReadProblem } from "./page.tsx";
import { count } from "./words.ts";

export type { Column } from "./arrange.ts";

/** As many rows as are found at a glance. */
const FEW = 5;

export interface Selecting<T> {
  readonly chosen: readonly T[];
  readonly onChange: (items: readonly T[]) => void;
  readonly single?: boolean;
  readonly disabled?: (item: T) => boolean;
  readonly label: (item: T) => string;
}

interface DataTableProps<T> {
  /** Names the table in the address; unique on its page. */
  readonly name: string;
  /** Stands in a container that has its title already. */
  readonly embedded?: boolean;
  readonly title: string;
  readonly level?: "h2" | "h3";
  readonly list: Pick<
    LiveList<T>,
    "items" | "more" | "readMore" | "problem" | "readNow" | "loading"
  >;
  readonly columns: readonly Column<T>[];
  readonly idOf: (item: T) => string;
  /** What to say, and to do, while there is nothing. */
  readonly empty: ReactNode;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly sortedBy?: string;
  readonly selecting?: Selecting<T>;
  /** Stands beside the filter: narrower questions than a word. */
  readonly filters?: ReactNode;
  readonly pageSize?: number;
  /** How many rows fit on a screen with what stands above them. */
  readonly firstRows?: number;
}

export function DataTable<T>(props: DataTableProps<T>) {
  const {
    name,
    list,
    columns,
    embedded = false,
    sortedBy = "",
    pageSize = 20,
    firstRows = 8,
  } = props;
  const [text, setText] = useQuery(`${name}.q`);
  const [order, setOrder] = useQuery(`${name}.sort`);
  const [page, setPage] = useState(1);
  const sorting = sortingOf(order === "" ? sortedBy : order);
  const items = list.items ?? [];
  const shown = arrange(items, columns, text, sorting);
  const searched = items.length > FEW || text !== "" || list.more;
  const pages = Math.max(1, Math.ceil(shown.length / pageSize));
  const current = Math.min(page, pages);
  // What fits on a screen comes first, the rest right behind it: a row is dear to draw.
  const rows = useDeferredValue(pageSize, firstRows);
  const thrownAway = useThrownAway();
  if (list.loading && thrownAway) return null;

  function turnTo(next: number): void {
    if (next > pages && list.more) list.readMore();
    setPage(next);
  }

  const header = !embedded && (
    <TableHeader {...props} shown={shown.length} filtered={text !== ""} />
  );
  const filter = (searched || props.filters !== undefined) && (
    <Filter {...props} searched={searched} text={text} onText={setText} matches={shown.length} />
  );
  const pagination = (pages > 1 || list.more) && (
    <Pagination
      currentPageIndex={current}
      pagesCount={pages}
      openEnd={list.more}
      onChange={({ detail }) => turnTo(detail.currentPageIndex)}
    />
  );
  const first = (current - 1) * pageSize;
  const drawn = shown.slice(first, first + rows);
  const onSort = (next: Sorting) => setOrder(sortingText(next));
  const nothing =
    text !== "" && items.length > 0 ? (
      <NoMatch onClear={() => setText("")} more={list.more} />
    ) : (
      props.empty
    );
  return (
    <SpaceBetween size="s">
      <ReadProblem live={list} />
      <Rows
        {...props}
        {...{ header, filter, pagination, sorting, onSort }}
        items={drawn}
        empty={nothing}
      />
    </SpaceBetween>
  );
}

interface RowsProps<T> extends DataTableProps<T> {
  readonly header: ReactNode;
  readonly filter: ReactNode;
  readonly pagination: ReactNode;
  readonly items: readonly T[];
  readonly sorting: Sorting | null;
  readonly onSort: (sorting: Sorting) => void;
}

function Rows<T>(props: RowsProps<T>) {
  const { title, list, columns, idOf, selecting, embedded = false } = props;
  const { header, filter, pagination, items, sorting, onSort, empty } = props;
  const narrow = useNarrow();
  const selection = selectionProps(selecting);
  if (narrow) {
    return (
      <DataCards
        {...{ title, columns, items, idOf, header, filter, pagination, empty, sorting, onSort }}
        loading={list.loading}
        selection={selection}
        selectionLabel={selecting?.label ?? null}
      />
    );
  }
  return (
    <Table
      variant={embedded ? "embedded" : "container"}
      {...{ header, filter, pagination, items, empty }}
      trackBy={idOf}
      loading={list.loading}
      loadingText="Reading"
      columnDefinitions={columns.map(definition)}
      {...sortingProps(columns, sorting, onSort)}
      ariaLabels={{ tableLabel: title, ...selectionLabels(selecting) }}
      {...selection}
      wrapLines
    />
  );
}

function TableHeader<T>({
  title,
  level = "h2",
  list,
  description,
  actions,
  shown,
  filtered,
}: DataTableProps<T> & { readonly shown: number; readonly filtered: boolean }) {
  const all = list.items?.length ?? 0;
  const total = `${all}${list.more ? "+" : ""}`;
  return (
    <Header
      variant={level}
      counter={list.items === null ? "" : filtered ? `(${shown}/${total})` : `(${total})`}
      description={description}
      actions={actions}
    >
      {title}
    </Header>
  );
}

interface FilterProps {
  readonly searched: boolean;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly matches: number;
}

function Filter<T>({
  title,
  filters,
  searched,
  text,
  onText,
  matches,
}: DataTableProps<T> & FilterProps) {
  return (
    <SpaceBetween size="xs" direction="horizontal" alignItems="center">
      {searched && (
        <TextFilter
          filteringText={text}
          filteringPlaceholder={`Find in ${title.toLowerCase()}`}
          filteringAriaLabel={`Find in ${title.toLowerCase()}`}
          countText={text === "" ? "" : count(matches, "match", "matches")}
          onChange={({ detail }) => onText(detail.filteringText)}
        />
      )}
      {filters}
    </SpaceBetween>
  );
}

function NoMatch({ onClear, more }: { readonly onClear: () => void; readonly more: boolean }) {
  return (
    <Empty title="Nothing matches" action={<Button onClick={onClear}>Show everything</Button>}>
      {more ? "There is more than what was read: turn the page to read on." : ""}
    </Empty>
  );
}

function definition<T>(column: Column<T>): TableProps.ColumnDefinition<T> {
  return {
    id: column.id,
    header: column.header,
    cell: (item) => cellOf(column, item),
    isRowHeader: column.rowHeader ?? false,
    ...(column.value === undefined ? {} : { sortingField: column.id }),
    ...(column.width === undefined ? {} : { width: column.width }),
    // Words stay whole; a table that is too wide for its page scrolls by itself.
    minWidth: column.minWidth ?? 130,
  };
}

function sortingProps<T>(
  columns: readonly Column<T>[],
  sorting: Sorting | null,
  onSort: (sorting: Sorting) => void,
): Partial<TableProps<T>> {
  const column = columns.find(({ id }) => id === sorting?.by);
  return {
    ...(column === undefined ? {} : { sortingColumn: { sortingField: column.id } }),
    sortingDescending: sorting?.descending ?? false,
    onSortingChange: ({ detail }) =>
      onSort({
        by: detail.sortingColumn.sortingField ?? "",
        descending: detail.isDescending ?? false,
      }),
  };
}

function selectionProps<T>(selecting: Selecting<T> | undefined): Selection<T> {
  if (selecting === undefined) return {};
  const { chosen, onChange, single = false, disabled } = selecting;
  return {
    selectionType: single ? "single" : "multi",
    selectedItems: chosen,
    onSelectionChange: ({ detail }) => onChange(detail.selectedItems),
    isItemDisabled: (item) => disabled?.(item) ?? false,
  };
}

function selectionLabels<T>(selecting: Selecting<T> | undefined): TableProps.AriaLabels<T> {
  if (selecting === undefined) return {};
  return {
    selectionGroupLabel: "Choose",
    allItemsSelectionLabel: () => "Choose all",
    itemSelectionLabel: (_, item) => selecting.label(item),
  };
}
