/** Filters and sorts what a table shows. Pure; used by data-table.tsx. */

import type { ReactNode } from "react";

export interface Column<T> {
  readonly id: string;
  readonly header: string;
  readonly cell: (item: T) => ReactNode;
  /** What is searched in and sorted by; a column without it is neither. */
  readonly value?: (item: T) => string | number | null | undefined;
  readonly rowHeader?: boolean;
  readonly width?: number | string;
  readonly minWidth?: number | string;
}

export interface Sorting {
  readonly by: string;
  readonly descending: boolean;
}

/** "name" or "-created": as it stands in an address. */
export function sortingOf(text: string): Sorting | null {
  if (text === "") return null;
  return text.startsWith("-")
    ? { by: text.slice(1), descending: true }
    : { by: text, descending: false };
}

export function sortingText({ by, descending }: Sorting): string {
  return descending ? `-${by}` : by;
}

/** The items that hold every word of `text` in one of their columns, in order. */
export function arrange<T>(
  items: readonly T[],
  columns: readonly Column<T>[],
  text: string,
  sorting: Sorting | null,
): T[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found = items.filter((item) => {
    if (words.length === 0) return true;
    const haystack = columns
      .map(({ value }) => String(value?.(item) ?? ""))
      .join("\n")
      .toLowerCase();
    return words.every((word) => haystack.includes(word));
  });
  const value = columns.find(({ id }) => id === sorting?.by)?.value;
  if (value === undefined || sorting === null) return found;
  const turn = sorting.descending ? -1 : 1;
  return found.sort((one, other) => turn * compare(value(one), value(other)));
}

type Comparable = string | number | null | undefined;

function compare(one: Comparable, other: Comparable): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one ?? "").localeCompare(String(other ?? ""), undefined, { numeric: true });
}
