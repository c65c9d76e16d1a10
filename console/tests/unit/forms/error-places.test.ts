import { describe, expect, it } from "vitest";
import { errorPlaces, hasPlace } from "../../../src/forms/error-places.ts";
import { visibleFields } from "../../../src/forms/schema.ts";

const fields = visibleFields(
  {
    type: "object",
    properties: {
      machines: { title: "Machines", type: "array", "x-widget": "allocation_picker" },
      settings: {
        title: "Settings",
        type: "object",
        properties: {
          queues: {
            title: "Queues",
            type: "array",
            items: { type: "object", properties: { name: { type: "string" } } },
          },
        },
      },
    },
  },
  {},
);

function of(pointer: string, message = "is required") {
  return errorPlaces(fields, [{ pointer, message }]);
}

describe("where an error is shown", () => {
  it("is the field it is about", () => {
    expect([...of("/machines").at]).toEqual([["/machines", "Machines is required."]]);
  });

  it("is the field that holds what it is about, which says where in it", () => {
    expect([...of("/settings/queues/0/name").at]).toEqual([
      ["/settings/queues", "Queues, item 1, name is required."],
    ]);
    expect([...of("/machines/1", "is not there.").at]).toEqual([
      ["/machines", "Machines, item 2 is not there."],
    ]);
  });

  it("is above the form where no field can show it", () => {
    expect(of("/", "has too much").rest).toEqual(["The form as a whole: has too much."]);
    expect(of("/settings/gone").rest).toEqual(["Settings, gone is required."]);
    expect(of("/machinesX").rest).toEqual(["machinesX is required."]);
    expect(of("/machinesX").at.size).toBe(0);
  });

  it("is known beforehand", () => {
    expect(hasPlace(fields, { pointer: "/settings/queues/3", message: "" })).toBe(true);
    expect(hasPlace(fields, { pointer: "/settings", message: "" })).toBe(false);
    expect(hasPlace(fields, { pointer: "", message: "" })).toBe(false);
  });
});
