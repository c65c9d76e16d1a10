import { act, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import type { Permission } from "../../../src/api/contract.ts";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import ServiceAccountPage from "../../../src/pages/service-account/index.tsx";
import { type FakePlatform, fakePlatform, json, person } from "../fake-platform.ts";

const PATH = "/api/v1/service-accounts/sa_1";
const account = {
  id: "sa_1",
  org_id: "org_1",
  project_id: "proj_1",
  name: "operator",
  display_name: "operator",
  description: "",
  public_key: null,
  roles: ["app_operator"],
  active: true,
  revision: 4,
  created_at: "2026-03-14T09:30:00Z",
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  signIn("identity.service_account.manage");
  platform = fakePlatform();
  platform.on(`GET ${PATH}/keys`, () => json(200, { items: [] }));
});

function signIn(...permissions: Permission[]): void {
  const scope = { kind: "project", org_id: "org_1", project_id: "proj_1" } as const;
  const granted = [{ scope, permissions, only_here: false }];
  session.set({ kind: "signed_in", who: { ...person("ada@example.org"), permissions: granted } });
}

async function open(active: boolean): Promise<void> {
  platform.on(`GET ${PATH}`, () => json(200, { ...account, active }));
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <ServiceAccountPage params={{ account_id: "sa_1" }} />
        </Suspense>
      </RouterProvider>,
    ),
  );
  await screen.findByRole("heading", { name: "operator" });
}

it.each([
  { active: true, text: "Deactivate", said: "It loses its access at once" },
  { active: false, text: "Activate again", said: "let in again" },
])("asks before it says $text", async ({ active, text, said }) => {
  platform.on(`PATCH ${PATH}`, () => json(200, { ...account, active: !active }));
  await open(active);
  await userEvent.click(screen.getByRole("button", { name: text }));
  const dialog = screen.getByRole("dialog");
  expect(dialog.textContent).toContain(said);
  await userEvent.click(within(dialog).getByRole("button", { name: text }));
  const change = platform.requests.find(({ method }) => method === "PATCH");
  expect(change?.headers.get("If-Match")).toBe('"4"');
  expect(await change?.json()).toEqual({ active: !active });
});

it("offers nothing to whoever may not", async () => {
  signIn("identity.service_account.read");
  await open(true);
  expect(screen.queryByRole("button", { name: "Deactivate" })).toBeNull();
});
