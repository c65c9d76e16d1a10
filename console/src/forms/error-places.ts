/** Where on a form each error is shown: at the field it is about, or the one that holds what it is about; what
 * belongs to no drawn field stands above the form. Used by schema-form.tsx and by the dialogs. Pure. */

import type { FieldError } from "../api/problem.ts";
import { pointerParts } from "./pointers.ts";
import type { Field } from "./schema.ts";

export interface ErrorPlaces {
  /** A sentence by the pointer of the field that shows it: the first one found. */
  readonly at: ReadonlyMap<string, string>;
  /** Sentences that no field can show. */
  readonly rest: readonly string[];
}

export function errorPlaces(fields: readonly Field[], errors: readonly FieldError[]): ErrorPlaces {
  const at = new Map<string, string>();
  const rest: string[] = [];
  for (const { pointer, message } of errors) {
    const trail = trailTo(fields, pointer);
    const last = trail.at(-1);
    const inside = pointerParts(pointer.slice(last?.pointer.length ?? 0)).filter(Boolean);
    if (last === undefined || last.widget === "group") {
      rest.push(told([...trail.map(({ title }) => title), ...inside.map(part)], message));
    } else if (!at.has(last.pointer)) {
      at.set(last.pointer, told([last.title, ...inside.map(part)], message));
    }
  }
  return { at, rest };
}

/** Whether a field shows what is wrong at this pointer. */
export function hasPlace(fields: readonly Field[], { pointer }: FieldError): boolean {
  const last = trailTo(fields, pointer).at(-1);
  return last !== undefined && last.widget !== "group";
}

/** The fields that hold what a pointer names, from the outermost on. */
function trailTo(fields: readonly Field[], pointer: string): readonly Field[] {
  const next = fields.find((field) => `${pointer}/`.startsWith(`${field.pointer}/`));
  return next === undefined ? [] : [next, ...trailTo(next.fields, pointer)];
}

/** People count from one. */
function part(name: string): string {
  return /^\d+$/.test(name) ? `item ${Number(name) + 1}` : name;
}

function told(where: readonly string[], message: string): string {
  const said =
    where.length === 0 ? `The form as a whole: ${message}` : `${where.join(", ")} ${message}`;
  return said.endsWith(".") ? said : `${said}.`;
}
