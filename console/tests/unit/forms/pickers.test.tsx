import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import type { ComponentType } from "react";
import { beforeEach, expect, it, vi } from "vitest";
import type { Json, JsonObject, Member } from "../../../src/api/contract.ts";
import { type FormContext, FormPlace, type WidgetProps } from "../../../src/forms/context.ts";
import {
  ArtifactPicker,
  MemberPicker,
  SecretPicker,
  ServiceAccountPicker,
  VersionPicker,
} from "../../../src/forms/pickers.tsx";
import { visibleFields } from "../../../src/forms/schema.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { type FakePlatform, fakePlatform, json, problem } from "../fake-platform.ts";

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
});

interface Drawn {
  readonly context?: Partial<FormContext>;
  readonly schema?: JsonObject;
  readonly value?: Json;
}

function draw(
  Picker: ComponentType<WidgetProps>,
  { context = {}, schema = { type: "string" }, value }: Drawn = {},
) {
  const [field] = visibleFields({ type: "object", properties: { one: schema } }, {});
  if (field === undefined) throw new Error("no field");
  const onChange = vi.fn();
  const place = { org_id: "org_1", project_id: "proj_1" };
  render(
    <FormPlace value={{ place, value: {}, ...context }}>
      <Picker field={field} value={value} onChange={onChange} disabled={false} invalid={false} />
    </FormPlace>,
  );
  return onChange;
}

const open = () => userEvent.click(screen.getByRole("button", { name: /None|Choose/ }));
const offered = () => screen.findAllByRole("option");

it("offers the versions of the app, and says why one cannot be chosen", async () => {
  const version = { status: "published", available: true, reasons: [] };
  const versions = [
    { ...version, version: "2.0.0" },
    { ...version, version: "1.0.0", available: false, reasons: [{ message: "Not entitled." }] },
  ];
  platform.on("GET /api/v1/projects/proj_1/apps/web", () => json(200, { versions }));
  const onChange = draw(VersionPicker, { context: { slug: "web" } });
  await open();
  const [free, closed] = await offered();
  expect(closed?.getAttribute("aria-disabled")).toBe("true");
  expect(closed?.textContent).toContain("Not entitled.");
  await userEvent.click(free as HTMLElement);
  expect(onChange).toHaveBeenCalledWith("2.0.0");
});

it("offers artifacts that were promoted before those that are published", async () => {
  const artifact = { version: "1", platform: "", trust: "verified" };
  platform.on("GET /api/v1/artifacts", ({ url }) => {
    const status = new URL(url).searchParams.get("status") ?? "";
    return json(200, { items: [{ ...artifact, id: `art_${status}`, name: status, status }] });
  });
  draw(ArtifactPicker);
  await open();
  await screen.findByRole("option", { name: /^promoted/ });
  expect((await offered()).map(({ textContent }) => textContent?.split(" ")[0])).toEqual([
    "promoted",
    "published",
  ]);
});

it("leads to where secrets are kept", async () => {
  platform.on("GET /api/v1/runtime-secrets", () => json(200, { items: [] }));
  draw(SecretPicker);
  const manage = screen.getByRole("link", { name: /Manage/ });
  expect(manage.getAttribute("href")).toBe("/projects/proj_1/access?tab=secrets");
});

it("tells a member by its machine", async () => {
  const machine = { id: "alloc_1", name: "m-01", sku: "big", region: "north", status: "active" };
  platform.on("GET /api/v1/allocations", () => json(200, { items: [machine] }));
  platform.on("GET /api/v1/skus", () => json(200, { items: [] }));
  const members = [
    { id: "mem_1", component_key: "hand", node: "", allocation_id: "alloc_1", status: "ready" },
    { id: "mem_2", component_key: "hand", node: "n-02", allocation_id: "alloc_2", status: "ready" },
  ] as unknown as Member[];
  draw(MemberPicker, { context: { members } });
  await open();
  expect(await screen.findByRole("option", { name: /hand on m-01/ })).toBeDefined();
  expect(screen.getByRole("option", { name: /hand on n-02/ })).toBeDefined();
});

it("reads every page: what is cut off could not be chosen", async () => {
  platform.on("GET /api/v1/projects/proj_1/service-accounts", ({ url }) => {
    const at = Number(new URL(url).searchParams.get("cursor") ?? "0");
    const account = { id: `sa_${at}`, name: `account ${at}`, roles: [], active: true };
    return json(200, { items: [account], next_cursor: at < 8 ? String(at + 1) : null });
  });
  draw(ServiceAccountPicker);
  await open();
  expect(await screen.findByRole("option", { name: /account 8/ })).toBeDefined();
  expect(await offered()).toHaveLength(9);
});

it("shows a problem whole, and reads again", async () => {
  platform.on("GET /api/v1/runtime-secrets", () =>
    problem(403, "forbidden", { detail: "You may not.", correlation_id: "web_77" }),
  );
  draw(SecretPicker);
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("You may not.");
  expect(alert.textContent).toContain("web_77");
  platform.on("GET /api/v1/runtime-secrets", () => json(200, { items: [] }));
  await userEvent.click(screen.getByRole("button", { name: "Read again" }));
  await vi.waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
});

it("keeps what was chosen and is offered no longer", async () => {
  platform.on("GET /api/v1/runtime-secrets", () =>
    json(200, { items: [{ id: "sec_new", name: "new", version: 1, status: "active" }] }),
  );
  const onChange = draw(SecretPicker, {
    schema: { type: "array", items: { type: "string" } },
    value: ["sec_gone"],
  });
  await open();
  await userEvent.click(await screen.findByRole("option", { name: /new/ }));
  expect(onChange).toHaveBeenCalledWith(["sec_gone", "sec_new"]);
});
