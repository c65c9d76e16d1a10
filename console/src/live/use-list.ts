/** A list of the platform, kept current: as many of its pages as the person has asked for. */

import { useState } from "react";
import { type Pages, type ReadPage, readPages } from "../api/pages.ts";
import { keptReadings } from "./kept.ts";
import { type Live, type LiveOptions, readAhead, useLive } from "./use-live.ts";

export interface LiveList<T> extends Omit<Live<Pages<T>>, "value"> {
  readonly items: readonly T[] | null;
  /** There is more than what was read. */
  readonly more: boolean;
  readonly readMore: () => void;
}

/** What `useList` is called with; a page that reads ahead says it in one place. */
export type ListArguments<T> = readonly [
  key: string | null,
  read: ReadPage<T>,
  options?: LiveOptions<Pages<T>>,
];

export function useList<T>(...[key, read, options = {}]: ListArguments<T>): LiveList<T> {
  const [wanted, setWanted] = useState({ key, pages: 1 });
  const pages = wanted.key === key ? wanted.pages : 1;
  const live = useLive(...pagesOf(pages, [key, read, options]));
  return {
    ...live,
    items: live.value?.items ?? null,
    more: live.value?.more ?? false,
    readMore: () => setWanted({ key, pages: pages + 1 }),
  };
}

/** Begins to read the first page of a list that will be drawn. */
export function readListAhead<T>(...list: ListArguments<T>): void {
  readAhead(...pagesOf(1, list));
}

function pagesOf<T>(count: number, [key, read, options = {}]: ListArguments<T>) {
  const named = key === null ? null : `${key}#${count}`;
  return [named, (signal: AbortSignal) => readPages(read, count, signal), options] as const;
}

/** The row of this id in a list that was read under `key` and a place: a seed for the page it leads to. */
export function rowOf<T extends { readonly id: string }>(key: string, id: string): T | null {
  return rowWhere<T>(key, (row) => row.id === id);
}

/** The same, of rows that are known by something else. */
export function rowWhere<T>(key: string, isIt: (row: T) => boolean): T | null {
  for (const list of keptReadings(`${key}:`)) {
    const found = (list as Pages<T> | null)?.items.find(isIt);
    if (found !== undefined) return found;
  }
  return null;
}

/** Something that is all here already, as a table wants it. */
export function wholeList<T>(items: readonly T[] | null): LiveList<T> {
  return {
    items,
    more: false,
    loading: items === null,
    problem: null,
    readNow: () => undefined,
    readMore: () => undefined,
  };
}
