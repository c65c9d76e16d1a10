/** A list as people use one: filtered as they type, sorted by a click, in pages, more when they want more;
 * what they chose stands in the address, so that the link they send shows the same. On a phone each row is a card. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Pagination from "@cloudscape-design/components/pagination";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import { type ReactNode, useDeferredValue, useState } from "react";
import { useLocation, useQuery } from "../app/router.tsx";
import { useThrownAway } from "../live/ahead.ts";
import type { LiveList } from "../live/use-list.ts";
import { arrange, type Column, type Sorting, sortingOf, sortingText } from "./arrange.ts";
import { cellOf } from "./cell.tsx";
import { DataCards, type Selection } from "./data-cards.tsx";
import { Empty } from "./empty.tsx";
import { useNarrow } from "./narrow.ts";
import { NotRead } from "./not-read.tsx";
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
  /** Takes those off, while one is on that leaves something out: that nothing is found then is not that there is nothing. */
  readonly widen?: (() => void) | null;
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
    widen = null,
  } = props;
  const [text, setText] = useQuery(`${name}.q`);
  const [order, setOrder] = useQuery(`${name}.sort`);
  const [page, setPage] = usePage();
  const sorting = sortingOf(order === "" ? sortedBy : order);
  const items = list.items ?? [];
  const shown = arrange(items, columns, text, sorting);
  const searched = items.length > FEW || text !== "" || list.more;
  const chosen = text !== "" || order !== "" || shown.some((item, at) => item !== items[at]);
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
    <Filter {...props} {...{ searched, text, chosen }} onText={setText} matches={shown.length} />
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
  const showAll = () => {
    if (text !== "") setText("");
    widen?.();
  };
  return (
    <SpaceBetween size="s">
      <ReadProblem live={list} />
      <Rows
        {...props}
        {...{ header, filter, pagination, sorting, onSort }}
        items={drawn}
        empty={<Nothing {...props} text={text} onShowAll={showAll} />}
      />
    </SpaceBetween>
  );
}

/** Which page is turned to: what is asked for anew, by whatever stands in the address, begins at its first. */
function usePage(): readonly [number, (page: number) => void] {
  const { search: asked } = useLocation();
  const [turned, setTurned] = useState({ asked, page: 1 });
  return [turned.asked === asked ? turned.page : 1, (page) => setTurned({ asked, page })];
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
  const loading = list.loading && list.problem === null;
  if (narrow) {
    return (
      <DataCards
        {...{ title, columns, items, idOf, header, filter, pagination, empty, sorting, onSort }}
        loading={loading}
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
      loading={loading}
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
  /** Some of what was read is left out, or it stands in another order than it came. */
  readonly chosen: boolean;
}

function Filter<T>({
  title,
  list,
  filters,
  searched,
  text,
  onText,
  matches,
  chosen,
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
      {chosen && list.more && <ReadSoFar read={list.items?.length ?? 0} onMore={list.readMore} />}
    </SpaceBetween>
  );
}

interface ReadSoFarProps {
  readonly read: number;
  readonly onMore: () => void;
}

/** What was not read is neither found nor in its place. */
function ReadSoFar({ read, onMore }: ReadSoFarProps) {
  return (
    <Box color="text-body-secondary">
      Found and ordered among the {read} read so far.{" "}
      <Button variant="inline-link" onClick={onMore}>
        Read more
      </Button>
    </Box>
  );
}

interface NothingProps {
  readonly text: string;
  readonly onShowAll: () => void;
}

/** In the place of rows: that it is not known, that nothing is as it was asked for, or that there is nothing. */
function Nothing<T>({ list, widen, empty, text, onShowAll }: DataTableProps<T> & NothingProps) {
  if (list.items === null) return <NotRead />;
  if (!widen && (text === "" || list.items.length === 0)) return empty;
  return (
    <Empty title="Nothing matches" action={<Button onClick={onShowAll}>Show everything</Button>} />
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
