/** The input of a deploy: what its form begins with, what it holds, and what of it is sent. Pure. */

import { isJsonObject, type Json, type JsonObject, type Schemas } from "../../api/contract.ts";
import type { FieldError } from "../../api/problem.ts";
import { check } from "../../forms/check.ts";
import { readAt, writtenAt } from "../../forms/pointers.ts";
import { expanded, type FieldSchema, pruned, visibleFields } from "../../forms/schema.ts";
import type { Draft } from "./draft.ts";

type Form = Schemas["OperationForm"];

export interface Input {
  readonly schema: FieldSchema;
  /** What stands in the form. */
  readonly value: JsonObject;
  readonly sent: JsonObject;
  /** What is wrong with it at first sight. */
  readonly wrong: readonly FieldError[];
}

export const NO_INPUT: Input = { schema: {}, value: {}, sent: {}, wrong: [] };

export function inputOf({ settings, answers }: Draft, form: Form): Input {
  const schema = expanded(form.input_schema as JsonObject);
  const value = settings ?? begun(form, schema, answers);
  return {
    schema,
    value,
    sent: pruned(schema, value),
    wrong: check(visibleFields(schema, value, form.fixed), value),
  };
}

/** The values the form begins with; and what was answered to another version, as far as this one asks for it and
 * lets it be chosen. */
function begun(
  { initial, fixed }: Form,
  schema: FieldSchema,
  answers: JsonObject | null,
): JsonObject {
  const own = initial as JsonObject;
  if (answers === null) return own;
  const answered = fixed.reduce(
    (value, pointer) => writtenAt(value, pointer, readAt(own, pointer) as Json | undefined),
    over(own, answers),
  );
  return pruned(schema, answered);
}

function over(below: JsonObject, above: JsonObject): JsonObject {
  const both: Record<string, Json> = { ...below };
  for (const [name, value] of Object.entries(above)) {
    const under = both[name];
    both[name] = isJsonObject(under) && isJsonObject(value) ? over(under, value) : value;
  }
  return both;
}
