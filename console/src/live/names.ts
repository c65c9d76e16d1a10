/** What people call the things whose ids stand in lists, timelines and messages. Those asked for in one tick are
 * read together; what was told is kept for the life of the session, and asked for anew once it is old. Used by
 * widgets/named.tsx, after what it stands on was drawn. What nobody tells stays without a name. */

import { api, asProblem, call } from "../api/client.ts";
import { released } from "./press.ts";
import { createStore } from "./store.ts";

/** As many as the platform takes in one question. */
const MOST_AT_ONCE = 100;
const OLD_MS = 60_000;

type Names = ReadonlyMap<string, string>;

export const names = createStore<Names>(new Map());

let askedAt = new Map<string, number>();
let wanted = new Set<string>();
let ended = new AbortController();

/** Asks for the name of what carries this id, unless that was done a moment ago. */
export function nameWanted(id: string): void {
  if (wanted.has(id) || Date.now() - (askedAt.get(id) ?? 0) < OLD_MS) return;
  if (wanted.size === 0) setTimeout(askAll);
  wanted.add(id);
}

/** Forgets every name: another person may be next. */
export function forgetNames(): void {
  ended.abort();
  ended = new AbortController();
  askedAt = new Map();
  wanted = new Set();
  names.set(new Map());
}

function askAll(): void {
  const ids = [...wanted];
  wanted = new Set();
  for (let first = 0; first < ids.length; first += MOST_AT_ONCE) {
    void ask(ids.slice(first, first + MOST_AT_ONCE));
  }
}

async function ask(ids: readonly string[]): Promise<void> {
  const { signal } = ended;
  for (const id of ids) askedAt.set(id, Date.now());
  try {
    const query = { id: [...ids] };
    const { items } = await call(api.GET("/api/v1/names", { params: { query }, signal }));
    await released();
    if (!signal.aborted) learn(items);
  } catch (thrown) {
    asProblem(thrown);
    // Whoever shows them next asks again.
    if (!signal.aborted) for (const id of ids) askedAt.delete(id);
  }
}

function learn(items: readonly { readonly id: string; readonly name: string }[]): void {
  const known = names.get();
  const told = items.filter(({ id, name }) => known.get(id) !== name);
  if (told.length > 0)
    names.set(new Map([...known, ...told.map((one) => [one.id, one.name] as const)]));
}
