/** What people call something that carries an id: its name, with the id for whoever points at it; the end of the
 * id until the name is known, and for what nobody tells. It has no link: thing.tsx has. */

import { useEffect, useSyncExternalStore } from "react";
import { displayName, session } from "../app/session.ts";
import { names, nameWanted } from "../live/names.ts";
import { useStore } from "../live/store.ts";
import { sentence, shortId } from "./words.ts";

/** As the platform makes them: what it is, and 26 characters. */
export const ID = /\b[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}\b/;

export function Named({ id }: { readonly id: string }) {
  const own = ownName(id, useStore(session));
  const told = useSyncExternalStore(names.subscribe, () => names.get().get(id) ?? null);
  const asks = own === null && isId(id);
  // Behind the drawing: no page waits for what its things are called.
  useEffect(() => {
    if (asks) nameWanted(id);
  }, [id, asks]);
  const name = own ?? (told === null ? null : called(id, told));
  return <span title={id}>{name ?? (isId(id) ? shortId(id) : id)}</span>;
}

/** What a list finds it by: what it is called as far as that is known, and its id. */
export function findable(id: string): string {
  return `${ownName(id, session.get()) ?? names.get().get(id) ?? ""} ${id}`.trim();
}

/** Whether the whole text is an id. */
export function isId(text: string): boolean {
  return ID.exec(text)?.[0] === text;
}

/** Oneself everybody knows. */
function ownName(id: string, current: ReturnType<typeof session.get>): string | null {
  return "who" in current && current.who.id === id ? displayName(current.who) : null;
}

/** An operation is told by the word for what it does. */
function called(id: string, name: string): string {
  return id.startsWith("op_") ? sentence(name) : name;
}
