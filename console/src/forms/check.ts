/** What is wrong with a value while it is typed. Pure, and no more than a hint: the platform checks the
 * whole schema, and its word is final. */

import type { Json, JsonObject } from "../api/contract.ts";
import type { FieldError } from "../api/problem.ts";
import { readAt } from "./pointers.ts";
import { type Field, type FieldSchema, list, mayBeEmpty, same } from "./schema.ts";
import { unfinishedOf } from "./unfinished.ts";

export function check(fields: readonly Field[], value: JsonObject): FieldError[] {
  return fields.flatMap((field) => {
    if (field.widget === "group") return check(field.fields, value);
    const given = readAt(value, field.pointer) as Json | undefined;
    const missing = field.required && !mayBeEmpty(field.schema) ? "is needed" : null;
    const message = isBlank(given) ? missing : wrong(field.schema, given);
    return message === null ? [] : [{ pointer: field.pointer, message }];
  });
}

export function isBlank(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === "" ||
    (Array.isArray(value) && value.length === 0)
  );
}

function wrong(schema: FieldSchema, value: Json | undefined): string | null {
  const typed = unfinishedOf(value);
  if (typed !== null) return typed.why;
  if (typeof value === "string") return wrongText(schema, value);
  if (typeof value === "number") return wrongNumber(schema, value);
  if (Array.isArray(value)) return wrongList(schema, value);
  return wrongChoice(schema, value);
}

function wrongText(schema: FieldSchema, value: string): string | null {
  const { minLength, maxLength, pattern, type } = schema;
  if (type === "integer" || type === "number") return "must be a number";
  if (typeof minLength === "number" && value.length < minLength) {
    return `needs at least ${minLength} characters`;
  }
  if (typeof maxLength === "number" && value.length > maxLength) {
    return `can have ${maxLength} characters at most`;
  }
  if (typeof pattern === "string" && !matches(pattern, value)) {
    return typeof schema["x-pattern-help"] === "string"
      ? schema["x-pattern-help"]
      : `must match ${pattern}`;
  }
  return wrongChoice(schema, value);
}

function wrongNumber(schema: FieldSchema, value: number): string | null {
  const { minimum, maximum, type } = schema;
  if (Number.isNaN(value)) return "must be a number";
  if (type === "integer" && !Number.isInteger(value)) return "must be a whole number";
  if (typeof minimum === "number" && value < minimum) return `must be ${minimum} or more`;
  if (typeof maximum === "number" && value > maximum) return `must be ${maximum} or less`;
  return wrongChoice(schema, value);
}

function wrongList(schema: FieldSchema, value: readonly Json[]): string | null {
  const { minItems, maxItems, uniqueItems } = schema;
  if (typeof minItems === "number" && value.length < minItems) return `needs at least ${minItems}`;
  if (typeof maxItems === "number" && value.length > maxItems)
    return `can have ${maxItems} at most`;
  if (
    uniqueItems === true &&
    new Set(value.map((one) => JSON.stringify(one))).size < value.length
  ) {
    return "names something twice";
  }
  return null;
}

function wrongChoice(schema: FieldSchema, value: Json | undefined): string | null {
  if (schema.const !== undefined && !same(schema.const, value)) {
    return `must be ${JSON.stringify(schema.const)}`;
  }
  const among = list(schema.enum);
  if (among.length > 0 && !among.some((one) => same(one, value))) {
    return `must be one of ${among.join(", ")}`;
  }
  return null;
}

/** A pattern of another engine that this one cannot read is left to the platform. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}
