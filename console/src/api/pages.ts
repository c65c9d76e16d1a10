/** Reads lists that come in pages. Used by live/use-list.ts and by pickers that need a whole list. */

export interface PageOf<T> {
  readonly items: readonly T[];
  readonly next_cursor?: string | null;
}

export type ReadPage<T> = (cursor: string | null, signal: AbortSignal) => Promise<PageOf<T>>;

/** What a page may hold at most; the platform's own limit is higher. */
export const PAGE_LIMIT = 200;
/** What a page holds of a list that has no end and is read again with everything that happens. */
export const FEW = 60;

export interface Pages<T> {
  readonly items: readonly T[];
  /** There is more behind what was read. */
  readonly more: boolean;
}

/** Where one chooses: what is cut off could not be chosen. */
export const EVERY_PAGE = Number.POSITIVE_INFINITY;

/** The first `count` pages, one behind the other. */
export async function readPages<T>(
  read: ReadPage<T>,
  count: number,
  signal: AbortSignal,
): Promise<Pages<T>> {
  const items: T[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < count; page += 1) {
    const { items: some, next_cursor } = await read(cursor, signal);
    items.push(...some);
    cursor = next_cursor ?? null;
    if (cursor === null) return { items, more: false };
  }
  return { items, more: true };
}

/** The query of a page: no cursor for the first. */
export function pageQuery(
  cursor: string | null,
  limit = PAGE_LIMIT,
): { limit: number; cursor?: string } {
  return cursor === null ? { limit } : { limit, cursor };
}
