import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/api/contract.ts";
import { check } from "../../../src/forms/check.ts";
import { readAt, writtenAt } from "../../../src/forms/pointers.ts";
import { expanded, pruned, visibleFields, withDefaults } from "../../../src/forms/schema.ts";

const SCHEMA: JsonObject = {
  type: "object",
  additionalProperties: false,
  required: ["machine", "placement"],
  properties: {
    machine: { title: "Machine", type: "string", "x-widget": "allocation_picker", "x-order": 1 },
    placement: { enum: ["same", "apart"], default: "same", "x-order": 2 },
    others: {
      title: "Others",
      type: "array",
      items: { type: "string" },
      minItems: 1,
      uniqueItems: true,
      "x-widget": "allocation_picker",
      "x-order": 3,
      "x-show-when": { pointer: "/placement", equals: "apart" },
    },
    settings: { $ref: "#/$defs/settings", "x-order": 4 },
  },
  if: { required: ["placement"], properties: { placement: { const: "apart" } } },
  // biome-ignore lint/suspicious/noThenProperty: it is the keyword of JSON Schema
  then: { required: ["others"] },
  else: { properties: { others: false } },
  $defs: {
    settings: {
      type: "object",
      default: {},
      properties: {
        port: { title: "Port", type: "integer", minimum: 1024, maximum: 65535, default: 8080 },
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
      },
    },
  },
};
const form = expanded(SCHEMA);
const names = (value: JsonObject) => visibleFields(form, value).map(({ name }) => name);

describe("the fields of a form", () => {
  it("come in the app's order, with what a reference stands for", () => {
    expect(names({ placement: "same" })).toEqual(["machine", "placement", "settings"]);
    const settings = visibleFields(form, {}).find(({ name }) => name === "settings");
    expect(settings?.widget).toBe("group");
    expect(settings?.fields.map(({ pointer }) => pointer)).toEqual([
      "/settings/port",
      "/settings/name",
    ]);
  });

  it("appear when what they depend on is chosen, and are needed then", () => {
    expect(names({ placement: "apart" })).toContain("others");
    const others = visibleFields(form, { placement: "apart" }).find(
      ({ name }) => name === "others",
    );
    expect(others?.required).toBe(true);
  });

  it("are not sent when they are not shown", () => {
    const value = { machine: "a", placement: "same", others: ["b"], settings: { port: 1 } };
    expect(pruned(form, value)).toEqual({ machine: "a", placement: "same", settings: { port: 1 } });
  });

  it("hold an empty list where one must be there and may be empty", () => {
    const loose = expanded({
      type: "object",
      required: ["some"],
      properties: { some: { type: "array", items: { type: "string" } } },
    });
    expect(pruned(loose, {})).toEqual({ some: [] });
    expect(check(visibleFields(loose, {}), {})).toEqual([]);
  });

  it("are rows where a list has small things of one kind", () => {
    const items = { type: "object", properties: { name: { type: "string" } } };
    const [parts] = visibleFields({ properties: { parts: { type: "array", items } } }, {});
    expect(parts?.widget).toBe("rows");
  });

  it("begin with their defaults, also inside objects that are there", () => {
    expect(withDefaults(form, {})).toEqual({ placement: "same", settings: { port: 8080 } });
    expect(withDefaults(form, { settings: { port: 9000 } })).toMatchObject({
      settings: { port: 9000 },
    });
  });

  it("are fixed where an entitlement says so", () => {
    const [machine] = visibleFields(form, {}, ["/machine"]);
    expect(machine?.fixed).toBe(true);
  });
});

describe("what is wrong while typing", () => {
  const wrong = (value: JsonObject) =>
    check(visibleFields(form, value), value).map(({ pointer, message }) => `${pointer} ${message}`);

  it("names each field that is needed and missing", () => {
    expect(wrong({ placement: "apart" })).toEqual(["/machine is needed", "/others is needed"]);
  });

  it.each([
    [{ port: 80 }, "/settings/port must be 1024 or more"],
    [{ port: 80_000 }, "/settings/port must be 65535 or less"],
    [{ port: 80.5 }, "/settings/port must be a whole number"],
    [{ name: "toolong" }, "/settings/name can have 5 characters at most"],
    [{ name: "ABC" }, "/settings/name must match ^[a-z]+$"],
  ])("of %j says %s", (settings, message) => {
    expect(wrong({ machine: "a", placement: "same", settings })).toEqual([message]);
  });

  it("knows lists and choices", () => {
    expect(wrong({ machine: "a", placement: "apart", others: ["b", "b"] })).toEqual([
      "/others names something twice",
    ]);
    expect(wrong({ machine: "a", placement: "elsewhere" })).toEqual([
      "/placement must be one of same, apart",
    ]);
  });
});

describe("pointers", () => {
  it("read and write, with the characters that have a meaning", () => {
    const value = writtenAt({}, "/a~1b/c~0d", 1);
    expect(value).toEqual({ "a/b": { "c~d": 1 } });
    expect(readAt(value, "/a~1b/c~0d")).toBe(1);
    expect(readAt(value, "/nowhere/at/all")).toBeUndefined();
    expect(writtenAt(value, "/a~1b/c~0d", undefined)).toEqual({ "a/b": {} });
  });
});
