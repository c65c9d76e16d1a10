import { act, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import AllocationsPage from "../../../src/pages/allocations/index.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const small = {
  id: "sku_1",
  name: "small",
  display_name: "Small",
  cpus: 4,
  memory_mib: 8192,
  gpus: 0,
  gpu_model: "",
  price_per_hour: "1",
  currency: "EUR",
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  const scope = { kind: "project", org_id: "org_1", project_id: "proj_1" } as const;
  const permissions = [
    { scope, permissions: ["capacity.allocation.create" as const], only_here: false },
  ];
  session.set({ kind: "signed_in", who: { ...person("ada@example.org"), permissions } });
  platform = fakePlatform();
  platform.on("GET /api/v1/projects", () =>
    json(200, { items: [{ id: "proj_1", org_id: "org_1", display_name: "Vision", active: true }] }),
  );
  platform.on("GET /api/v1/allocations", () => json(200, { items: [] }));
  platform.on("GET /api/v1/skus", () => json(200, { items: [small] }));
});

async function open(): Promise<void> {
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <AllocationsPage params={{ project_id: "proj_1" }} />
        </Suspense>
      </RouterProvider>,
    ),
  );
  await screen.findByRole("heading", { name: "Allocations", level: 1 });
  const [button] = await screen.findAllByRole("button", { name: "Get an allocation" });
  if (button !== undefined) await userEvent.click(button);
}

it.each(["skus", "regions"])("says in the dialog that %s cannot be read", async (list) => {
  platform.on("GET /api/v1/regions", () => json(200, { items: [] }));
  platform.on(`GET /api/v1/${list}`, () => problem(503, "unavailable"));
  await open();
  const dialog = await screen.findByRole("dialog", { name: "Get an allocation" });
  expect((await within(dialog).findByRole("alert")).textContent).toContain("unavailable");
  platform.on(`GET /api/v1/${list}`, () => json(200, { items: [] }));
  await userEvent.click(within(dialog).getByRole("button", { name: "Read again" }));
  expect(await screen.findByRole("textbox", { name: /Name/ })).toBeDefined();
});

it("offers the regions of all pages", async () => {
  platform.on("GET /api/v1/regions", ({ url }) =>
    new URL(url).searchParams.has("cursor")
      ? json(200, { items: [{ id: "reg_2", name: "south", display_name: "South" }] })
      : json(200, {
          items: [{ id: "reg_1", name: "north", display_name: "North" }],
          next_cursor: "more",
        }),
  );
  await open();
  await screen.findByRole("textbox", { name: /Name/ });
  const dialog = screen.getByRole("dialog");
  await userEvent.click(within(dialog).getByRole("button", { name: /Region/ }));
  expect(await screen.findAllByText("North")).toBeDefined();
  expect(screen.getAllByText("South")).toBeDefined();
});

it("shows in the list that a machine's agent was taken away", async () => {
  const allocation = {
    id: "alloc_1",
    name: "mine",
    org_id: "org_1",
    project_id: "proj_1",
    sku: "small",
    region: "north",
    status: "active",
    status_reason: "",
    address: null,
    bound_instance_id: null,
    created_at: "2026-03-14T09:30:00Z",
    conditions: [{ type: "agent_left", since: "2026-03-14T09:30:00Z" }],
  };
  platform.on("GET /api/v1/allocations", () => json(200, { items: [allocation] }));
  await open();
  expect(await screen.findByText("Agent left")).toBeDefined();
});
