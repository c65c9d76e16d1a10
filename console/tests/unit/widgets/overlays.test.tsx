import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { forgetReadings } from "../../../src/live/kept.ts";
import { OverlayTable } from "../../../src/widgets/overlays.tsx";
import { type FakePlatform, fakePlatform, json } from "../fake-platform.ts";

const RULES = {
  regions: { allow: [], deny: [] },
  skus: { allow: ["h200-*", "a100"], deny: ["h200-8"] },
  app_versions: { allow: null, deny: ["web@1.*"] },
};
let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
});

async function edit(rules: unknown) {
  const overlay = {
    id: "pol_1",
    name: "closed",
    description: "Old",
    rules,
    warnings: [],
    revision: 4,
  };
  platform.on("GET /api/v1/projects/proj_1/policy-overlays", () =>
    json(200, { items: [{ ...overlay, updated_at: "2026-01-01T00:00:00Z" }] }),
  );
  platform.on("PUT /api/v1/policy-overlays/pol_1", () => json(200, overlay));
  render(
    <RouterProvider>
      <OverlayTable scope={{ kind: "project", id: "proj_1" }} manages />
    </RouterProvider>,
  );
  await userEvent.click(await screen.findByRole("button", { name: "Change closed" }));
  return within(await screen.findByRole("dialog"));
}

async function sent(): Promise<{ description: string; rules: unknown }> {
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  const put = await waitFor(() => {
    const found = platform.requests.find(({ method }) => method === "PUT");
    if (found === undefined) throw new Error("nothing was sent");
    return found;
  });
  return put.json();
}

it("leaves the rules as they are when only the reason is changed, also one that allows nothing", async () => {
  const dialog = await edit(RULES);
  const why = dialog.getByRole("textbox", { name: /^Why/ });
  await userEvent.clear(why);
  await userEvent.type(why, "New");
  expect(await sent()).toEqual({ description: "New", rules: RULES });
});

it("keeps what it says of something this console does not know", async () => {
  await edit({ ...RULES, moons: { allow: ["io"], deny: [] } });
  expect((await sent()).rules).toEqual({ ...RULES, moons: { allow: ["io"], deny: [] } });
});

it("lets a person say that nothing may be used, and everything again", async () => {
  const dialog = await edit({ regions: { allow: [], deny: [] } });
  const choose = async (field: RegExp, option: string) => {
    await userEvent.click(dialog.getByRole("button", { name: field }));
    await userEvent.click(await screen.findByRole("option", { name: option }));
  };
  await choose(/Region: what may be used/, "Everything that holds above");
  await choose(/Kind of machine: what may be used/, "Nothing");
  expect((await sent()).rules).toEqual({ skus: { allow: [], deny: [] } });
});

it("asks what the only ones are before it is sent", async () => {
  const dialog = await edit({});
  await userEvent.click(dialog.getByRole("button", { name: /Region: what may be used/ }));
  await userEvent.click(await screen.findByRole("option", { name: "Only these" }));
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await dialog.findByText("Region: only these is needed.")).toBeDefined();
  expect(platform.requests.some(({ method }) => method === "PUT")).toBe(false);
  await userEvent.type(dialog.getByRole("textbox", { name: /Region: only these/ }), "north{Enter}");
  expect((await sent()).rules).toEqual({ regions: { allow: ["north"], deny: [] } });
});
