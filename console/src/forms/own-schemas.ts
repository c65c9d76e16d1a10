/** Pieces of the console's own forms that several pages use. Bounds are the contract's; the platform
 * checks them again. */

import type { JsonObject } from "../api/contract.ts";

export const NAME: JsonObject = {
  title: "Name",
  type: "string",
  pattern: "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$",
  "x-pattern-help": "has lower-case letters, digits and hyphens, and starts with a letter",
};

export const REASON: JsonObject = {
  title: "Reason",
  type: "string",
  minLength: 1,
  maxLength: 2000,
  "x-widget": "textarea",
  "x-help": "It is kept in the audit log.",
};

export function objectOf(
  properties: Readonly<Record<string, JsonObject>>,
  ...required: readonly string[]
): JsonObject {
  return { type: "object", properties, required };
}

/** A choice among values that are known when the form is drawn. */
export function choice(
  title: string,
  options: readonly { value: string; label: string }[],
  more: JsonObject = {},
): JsonObject {
  return {
    title,
    type: "string",
    "x-widget": "select",
    oneOf: options.map(({ value, label }) => ({ const: value, title: label })),
    ...more,
  };
}
