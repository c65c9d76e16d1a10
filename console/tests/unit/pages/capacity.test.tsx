import { act, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import CapacityPage from "../../../src/pages/capacity/index.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  const scope = { kind: "platform", org_id: null, project_id: null } as const;
  const permissions = [{ scope, permissions: ["capacity.node.manage" as const], only_here: false }];
  session.set({ kind: "signed_in", who: { ...person("ada@example.org"), permissions } });
  platform = fakePlatform();
  for (const list of ["nodes", "enrolments", "skus"]) {
    platform.on(`GET /api/v1/${list}`, () => json(200, { items: [] }));
  }
});

it.each([
  { tab: "nodes", button: "Add an existing host" },
  { tab: "enrolments", button: "Enrol a host" },
])(
  "opens “$button” at once, and says why what it needs cannot be read",
  async ({ tab, button }) => {
    platform.on("GET /api/v1/regions", () => problem(503, "unavailable"));
    window.history.replaceState(null, "", `/admin/capacity?tab=${tab}`);
    await act(async () =>
      render(
        <RouterProvider>
          <Suspense>
            <CapacityPage />
          </Suspense>
        </RouterProvider>,
      ),
    );
    const [first] = await screen.findAllByRole("button", { name: button });
    if (first !== undefined) await userEvent.click(first);
    const dialog = await screen.findByRole("dialog", { name: button });
    expect(await within(dialog).findByRole("alert")).toBeDefined();
    platform.on("GET /api/v1/regions", () =>
      json(200, { items: [{ id: "reg_1", name: "north", display_name: "North" }] }),
    );
    await userEvent.click(within(dialog).getByRole("button", { name: "Read again" }));
    await screen.findByRole("textbox", { name: /^Name/ });
    const form = within(screen.getByRole("dialog"));
    await userEvent.click(form.getByRole("button", { name: /Region/ }));
    expect(await screen.findAllByText("North")).toBeDefined();
  },
);
