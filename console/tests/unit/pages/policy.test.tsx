import { act, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { forgetReadings } from "../../../src/live/kept.ts";
import PolicyPage from "../../../src/pages/policy/index.tsx";
import { type FakePlatform, fakePlatform, json } from "../fake-platform.ts";

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
  platform.on("GET /api/v1/projects/proj_1/effective-policy", ({ url }) => {
    const value = new URL(url).searchParams.get("value");
    const decision = value && { value, allowed: true, message: "No rule forbids it.", chain: [] };
    return json(200, { rules: {}, decision });
  });
  platform.on("GET /api/v1/skus", () =>
    json(200, { items: [{ name: "h200-8", display_name: "Eight H200" }] }),
  );
  platform.on("GET /api/v1/projects/proj_1/apps", () =>
    json(200, {
      items: [{ slug: "web", display_name: "Web service", versions: [{ version: "1.4.2" }] }],
    }),
  );
});

async function open(): Promise<HTMLElement> {
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <PolicyPage params={{ project_id: "proj_1" }} />
        </Suspense>
      </RouterProvider>,
    ),
  );
  return screen.findByRole("combobox", { name: "Value" });
}

it("asks about a kind that is known, and forgets the answer when another is asked about", async () => {
  const value = await open();
  await userEvent.click(value);
  await userEvent.click(await screen.findByText("h200-8"));
  await userEvent.click(screen.getByRole("button", { name: "Explain" }));
  expect(await screen.findByText("h200-8 is allowed")).toBeDefined();
  await userEvent.type(value, "0");
  expect(screen.queryByText("h200-8 is allowed")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Explain" }));
  expect(await screen.findByText("h200-80 is allowed")).toBeDefined();
});

it("offers the versions of every app, as rules write them", async () => {
  const value = await open();
  await userEvent.click(screen.getByRole("button", { name: /Of what/ }));
  await userEvent.click(await screen.findByText("App version (slug@version)"));
  await userEvent.click(value);
  expect(await screen.findByText("web@1.4.2")).toBeDefined();
});
