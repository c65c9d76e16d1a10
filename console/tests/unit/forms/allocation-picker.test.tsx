import { render, screen, within } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { AllocationPicker } from "../../../src/forms/allocation-picker.tsx";
import { FormPlace } from "../../../src/forms/context.ts";
import type { Field } from "../../../src/forms/schema.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { forgetNames } from "../../../src/live/names.ts";
import { type FakePlatform, fakePlatform, json } from "../fake-platform.ts";

const OTHER = "inst_01m7jcn25kejz69892sne3zhs3";
const schema = { type: "string" };
const field = { pointer: "/machine", title: "Machine", schema } as unknown as Field;
let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  forgetNames();
  platform = fakePlatform();
  const machine = { sku: "h100", region: "north", status: "active", bound_instance_id: null };
  const items = [
    { ...machine, id: "alloc_1", name: "free" },
    { ...machine, id: "alloc_2", name: "used", bound_instance_id: OTHER },
  ];
  platform.on("GET /api/v1/allocations", () => json(200, { items }));
  platform.on("GET /api/v1/skus", () => json(200, { items: [] }));
});

function show(): void {
  render(
    <FormPlace value={{ place: { org_id: "org_1", project_id: "proj_1" }, value: {} }}>
      <AllocationPicker
        field={field}
        value={undefined}
        onChange={() => undefined}
        disabled={false}
        invalid={false}
      />
    </FormPlace>,
  );
}

async function rowOf(machine: string) {
  const header = await screen.findByRole("rowheader", { name: machine });
  return within(header.closest("tr") ?? header);
}

it("names the instance that uses a machine, and leads there beside the form", async () => {
  platform.on("GET /api/v1/names", () => json(200, { items: [{ id: OTHER, name: "cluster" }] }));
  show();
  const used = await rowOf("used");
  const link = await used.findByRole("link", { name: /^cluster/ });
  expect(link.getAttribute("href")).toBe(`/instances/${OTHER}`);
  expect(link.getAttribute("target")).toBe("_blank");
  expect(used.getByText("Another instance uses it.")).toBeDefined();
  expect(used.queryByText(new RegExp(OTHER))).toBeNull();
  expect(screen.queryByText(/None of them can be chosen/)).toBeNull();
  const free = await rowOf("free");
  expect(free.getByText("Yes")).toBeDefined();
  expect(free.queryByRole("link")).toBeNull();
});

it("tells an instance that may not be read by the end of its id", async () => {
  show();
  expect(await (await rowOf("used")).findByRole("link", { name: /^inst_…e3zhs3/ })).toBeDefined();
});

it("says so when no machine can be chosen", async () => {
  const used = { sku: "h100", region: "north", status: "active", bound_instance_id: OTHER };
  const items = [{ ...used, id: "alloc_2", name: "used" }];
  platform.on("GET /api/v1/allocations", () => json(200, { items }));
  show();
  expect(await screen.findByText(/None of them can be chosen/)).toBeDefined();
});
