/** The settings of an instance that runs: which fields of the deploy form are settings, and what becomes of
 * what somebody typed when somebody else was faster. Pure. */

import { isJsonObject, type Json, type JsonObject, type OperationSpec } from "../api/contract.ts";
import { pointerOf, pointerParts } from "../forms/pointers.ts";
import { expanded, type FieldSchema, same } from "../forms/schema.ts";

/** The deploy form without what says where members sit: that changes by operations alone. */
export function settingsSchema(deploy: OperationSpec): FieldSchema {
  const places = (deploy.placement ?? []).flatMap(({ pointer, when = [] }) => [
    pointer,
    ...when.map((one) => one.pointer),
  ]);
  const whole = expanded((deploy.input ?? {}) as JsonObject);
  return places.reduce((schema, pointer) => without(schema, pointerParts(pointer)), whole);
}

/** What was typed, on top of what somebody else has saved meanwhile: every field that was touched stays as
 * it was typed, every other one is theirs. */
export function merged(before: JsonObject, typed: JsonObject, theirs: JsonObject): JsonObject {
  const result: Record<string, Json> = {};
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(typed)])) {
    const value = mergedValue(before[name], typed[name], theirs[name]);
    if (value !== undefined) result[name] = value;
  }
  return result;
}

/** Pointers to what differs between two values. */
export function differences(one: JsonObject, other: JsonObject, at = ""): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => {
    const [before, after] = [one[name], other[name]];
    if (same(before, after)) return [];
    const here = at + pointerOf(name);
    return isJsonObject(before) && isJsonObject(after) ? differences(before, after, here) : [here];
  });
}

function mergedValue(
  before: Json | undefined,
  typed: Json | undefined,
  theirs: Json | undefined,
): Json | undefined {
  if (same(typed, before)) return theirs;
  if (isJsonObject(typed) && isJsonObject(theirs)) {
    return merged(isJsonObject(before) ? before : {}, typed, theirs);
  }
  return typed;
}

/** A schema without one field, wherever its conditions speak of it; what they ask stays. */
function without(schema: FieldSchema, [name, ...rest]: readonly string[]): FieldSchema {
  if (name === undefined) return schema;
  const { properties } = schema;
  const changed: Record<string, Json> = { ...schema };
  if (isJsonObject(properties)) {
    const left = Object.entries(properties).flatMap(([key, field]) => {
      if (key !== name) return [[key, field]];
      return rest.length > 0 && isJsonObject(field) ? [[key, without(field, rest)]] : [];
    });
    changed.properties = Object.fromEntries(left) as JsonObject;
  }
  for (const branch of ["then", "else"]) {
    const part = schema[branch];
    if (isJsonObject(part)) changed[branch] = without(part, [name, ...rest]);
  }
  if (Array.isArray(schema.allOf)) {
    changed.allOf = schema.allOf.map((part) =>
      isJsonObject(part) ? without(part, [name, ...rest]) : part,
    );
  }
  return changed;
}
