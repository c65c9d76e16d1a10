/** From a JSON Schema to the fields of a form: which are there, in which order, drawn as what. Pure. The
 * schemas are those of manifests (closed objects, local references), and the console's own. */

import { isJsonObject, type Json, type JsonObject } from "../api/contract.ts";
import { pointerOf, readAt } from "./pointers.ts";

export type FieldSchema = JsonObject;

export interface Field {
  readonly pointer: string;
  readonly name: string;
  readonly title: string;
  readonly schema: FieldSchema;
  readonly widget: string;
  readonly required: boolean;
  /** Cannot be chosen: an entitlement has fixed it. */
  readonly fixed: boolean;
  /** Fields of an object that is drawn as a group. */
  readonly fields: readonly Field[];
}

/** A schema with its local references written out. Manifests never refer in a circle. */
export function expanded(schema: JsonObject, root: JsonObject = schema): FieldSchema {
  const written = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(written);
    if (!isJsonObject(node)) return node;
    const { $ref, ...rest } = node;
    if (typeof $ref !== "string") {
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, written(value)]));
    }
    const target = readAt(root, $ref.slice(1));
    return written({ ...(isJsonObject(target) ? target : {}), ...rest });
  };
  const { $defs: _, ...bare } = schema;
  const result = written(bare);
  return isJsonObject(result) ? result : {};
}

/** The fields that are there while the form has this value, in the order the app wants. */
export function visibleFields(
  schema: FieldSchema,
  value: JsonObject,
  fixed: readonly string[] = [],
): readonly Field[] {
  return fieldsAt(schema, { value, fixed, pointer: "" });
}

/** The value without the fields that are not drawn now: they are no part of what is sent. */
export function pruned(schema: FieldSchema, value: JsonObject): JsonObject {
  return prunedAt(visibleFields(schema, value), value);
}

/** The value a form begins with: every default, also inside objects that are there. */
export function withDefaults(schema: FieldSchema, value: JsonObject): JsonObject {
  const filled: Record<string, Json> = { ...value };
  for (const [name, child] of Object.entries(properties(schema))) {
    if (filled[name] === undefined && child.default !== undefined) filled[name] = child.default;
    const inner = filled[name];
    if (isJsonObject(inner)) filled[name] = withDefaults(child, inner);
  }
  return filled;
}

interface Where {
  readonly value: JsonObject;
  readonly fixed: readonly string[];
  readonly pointer: string;
}

function fieldsAt(schema: FieldSchema, { value, fixed, pointer }: Where): readonly Field[] {
  const here = readAt(value, pointer);
  const { shown, required } = effective(schema, isJsonObject(here) ? here : {});
  return Object.entries(shown)
    .filter(([, child]) => isShown(child, value))
    .sort(([, one], [, other]) => order(one) - order(other))
    .map(([name, child]) => {
      const at = pointer + pointerOf(name);
      const widget = widgetOf(child);
      return {
        pointer: at,
        name,
        title: text(child.title) ?? name,
        schema: child,
        widget,
        required: required.has(name),
        fixed: fixed.includes(at) || child.readOnly === true,
        fields: widget === "group" ? fieldsAt(child, { value, fixed, pointer: at }) : [],
      };
    });
}

function prunedAt(fields: readonly Field[], value: JsonObject): JsonObject {
  const kept: Record<string, Json> = {};
  for (const field of fields) {
    const inner = value[field.name] ?? emptyList(field);
    if (inner === undefined) continue;
    kept[field.name] =
      field.widget === "group" && isJsonObject(inner) ? prunedAt(field.fields, inner) : inner;
  }
  return kept;
}

/** A list that must be there and may be empty is there when nothing was chosen. */
function emptyList({ required, schema }: Field): Json | undefined {
  return required && mayBeEmpty(schema) ? [] : undefined;
}

export function mayBeEmpty({ type, minItems }: FieldSchema): boolean {
  return type === "array" && Number(minItems ?? 0) === 0;
}

/** The properties and required names of an object, with its conditions applied to its value. */
function effective(
  schema: FieldSchema,
  value: JsonObject,
): { shown: Record<string, FieldSchema>; required: Set<string> } {
  const shown: Record<string, FieldSchema> = { ...properties(schema) };
  const required = new Set(names(schema.required));
  const conditional = [schema, ...list(schema.allOf).filter(isJsonObject)];
  for (const more of conditional.flatMap((part) => [part, branchOf(part, value)])) {
    for (const name of names(more.required)) required.add(name);
    if (more !== schema) narrow(shown, more);
  }
  return { shown, required };
}

/** Applies what a condition says of fields: `false` takes one away, a schema adds to it. */
function narrow(shown: Record<string, FieldSchema>, { properties: changes }: FieldSchema): void {
  if (!isJsonObject(changes)) return;
  for (const [name, change] of Object.entries(changes)) {
    if (change === false) delete shown[name];
    else if (isJsonObject(change)) shown[name] = { ...shown[name], ...change };
  }
}

function branchOf(schema: FieldSchema, value: JsonObject): FieldSchema {
  if (!isJsonObject(schema.if)) return {};
  const branch = holds(schema.if, value) ? schema.then : schema.else;
  return isJsonObject(branch) ? branch : {};
}

/** Whether a condition of a form holds: required names, and what their values must be. */
function holds(condition: FieldSchema, value: JsonObject): boolean {
  if (names(condition.required).some((name) => value[name] === undefined)) return false;
  return Object.entries(properties(condition)).every(([name, { const: exact, enum: among }]) => {
    const given = value[name];
    if (given === undefined) return true;
    if (exact !== undefined) return same(given, exact);
    return among === undefined || list(among).some((one) => same(one, given));
  });
}

function isShown(schema: FieldSchema, value: JsonObject): boolean {
  const when = schema["x-show-when"];
  if (!isJsonObject(when) || typeof when.pointer !== "string") return true;
  return same(readAt(value, when.pointer), when.equals);
}

function widgetOf(schema: FieldSchema): string {
  const asked = text(schema["x-widget"]);
  if (asked !== null) return asked;
  if (Array.isArray(schema.enum)) return schema.enum.length <= 3 ? "radio" : "select";
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  switch (type) {
    case "boolean":
      return "switch";
    case "integer":
    case "number":
      return "number";
    case "string":
      return Number(schema.maxLength ?? 0) > 500 ? "textarea" : "text";
    case "object":
      return isJsonObject(schema.properties) ? "group" : objectWidget(schema);
    case "array":
      return arrayWidget(schema);
    default:
      return "json";
  }
}

function objectWidget({ additionalProperties }: FieldSchema): string {
  return isJsonObject(additionalProperties) && additionalProperties.type === "string"
    ? "key_value"
    : "json";
}

function arrayWidget({ items }: FieldSchema): string {
  if (!isJsonObject(items)) return "json";
  if (Array.isArray(items.enum)) return "multiselect";
  if (text(items["x-widget"]) !== null) return String(items["x-widget"]);
  if (items.type === "object" && isFlat(items)) return "rows";
  return items.type === "string" ? "tokens" : "json";
}

/** An object of plain values: it fits into a row. */
function isFlat(schema: FieldSchema): boolean {
  const plain = new Set(["text", "number", "select", "radio"]);
  const inner = Object.values(properties(schema));
  return inner.length > 0 && inner.every((child) => plain.has(widgetOf(child)));
}

export function properties(schema: FieldSchema): Record<string, FieldSchema> {
  if (!isJsonObject(schema.properties)) return {};
  return Object.fromEntries(
    Object.entries(schema.properties).filter((entry): entry is [string, FieldSchema] =>
      isJsonObject(entry[1]),
    ),
  );
}

export function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function text(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function names(value: Json | undefined): string[] {
  return list(value).filter((name) => typeof name === "string");
}

function order(schema: FieldSchema): number {
  return typeof schema["x-order"] === "number" ? schema["x-order"] : 1000;
}
