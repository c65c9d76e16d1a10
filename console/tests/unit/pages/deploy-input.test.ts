import { expect, it } from "vitest";
import type { JsonObject, Schemas } from "../../../src/api/contract.ts";
import type { Offer } from "../../../src/forms/use-offers.ts";
import { NO_DRAFT } from "../../../src/pages/deploy/draft.ts";
import { inTheWay } from "../../../src/pages/deploy/in-the-way.ts";
import { inputOf } from "../../../src/pages/deploy/input.ts";

const form = {
  input_schema: {
    type: "object",
    required: ["size"],
    properties: {
      size: { type: "integer" },
      more: { type: "object", properties: { port: { type: "integer" }, word: { type: "string" } } },
    },
  },
  initial: { size: 1, more: { port: 80 } },
  fixed: ["/more/port"],
} as unknown as Schemas["OperationForm"];

function valueWith(answers: JsonObject | null, settings: JsonObject | null = null) {
  return inputOf({ ...NO_DRAFT, answers, settings }, form).value;
}

it("begins with the values of the form", () => {
  expect(valueWith(null)).toEqual({ size: 1, more: { port: 80 } });
});

it("takes over what was answered to another version: what is asked here too, and may be chosen", () => {
  const answers = { size: 3, gone: true, more: { port: 9, word: "hi", gone: 1 } };
  expect(valueWith(answers)).toEqual({ size: 3, more: { port: 80, word: "hi" } });
});

it("leaves alone what is answered to this one", () => {
  expect(valueWith({ size: 3 }, { more: {} })).toEqual({ more: {} });
});

it("tells of machines that are gone or taken", () => {
  const offers = [
    { allocation: { id: "alloc_1" }, why: null },
    { allocation: { id: "alloc_2" }, why: "Another instance uses it." },
  ] as unknown as Offer[];
  expect(inTheWay(["alloc_1", "alloc_2", "alloc_3"], offers)).toEqual([
    { allocationId: "alloc_2", why: "Another instance uses it." },
    { allocationId: "alloc_3", why: "The project does not hold it any more." },
  ]);
});
