import { describe, expect, it } from "vitest";
import type { OperationSpec } from "../../../src/api/contract.ts";
import { visibleFields } from "../../../src/forms/schema.ts";
import { differences, merged, settingsSchema } from "../../../src/manifest/settings.ts";

const DEPLOY = {
  input: {
    type: "object",
    required: ["machine", "spread"],
    properties: {
      machine: { type: "string", "x-order": 1 },
      spread: { enum: ["one", "many"], "x-order": 2 },
      machines: { type: "array", items: { type: "string" } },
      inner: { $ref: "#/$defs/inner" },
      name: { type: "string" },
    },
    if: { required: ["spread"], properties: { spread: { const: "many" } } },
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
    then: { required: ["machines"], properties: { machines: { minItems: 1 } } },
    else: { properties: { machines: false } },
    $defs: {
      inner: { type: "object", properties: { port: { type: "integer" }, at: { type: "string" } } },
    },
  },
  placement: [
    { pointer: "/machine", component: "a" },
    { pointer: "/machines", component: "b", when: [{ pointer: "/spread", equals: "many" }] },
    { pointer: "/inner/at", component: "c" },
  ],
} as unknown as OperationSpec;

describe("the settings of an instance", () => {
  it.each(["one", "many"])("are the deploy form without places, spread over %s", (spread) => {
    const fields = visibleFields(settingsSchema(DEPLOY), { spread });
    expect(fields.map(({ name }) => name)).toEqual(["inner", "name"]);
    expect(fields[0]?.fields.map(({ name }) => name)).toEqual(["port"]);
  });

  it("keep what was typed over what somebody else has saved, and take the rest", () => {
    const before = { name: "a", log: true, inner: { port: 1, at: "x" } };
    const typed = { name: "mine", log: true, inner: { port: 2, at: "x" } };
    const theirs = { name: "theirs", inner: { port: 1, at: "y" }, more: [1] };
    expect(merged(before, typed, theirs)).toEqual({
      name: "mine",
      inner: { port: 2, at: "y" },
      more: [1],
    });
  });

  it("differ where they differ", () => {
    const one = { name: "a", inner: { port: 1, at: "x" }, same: [1] };
    const other = { name: "b", inner: { port: 2, at: "x" }, same: [1], more: 1 };
    expect(differences(one, other)).toEqual(["/name", "/inner/port", "/more"]);
  });
});
