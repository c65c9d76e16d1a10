import { act, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it, vi } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { forgetNames, names } from "../../../src/live/names.ts";
import TenantPage from "../../../src/pages/tenant/index.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const LIST = "GET /api/v1/admin/break-glass";
const VISITOR = "user_00000000000000000000000001";
const NOBODY = "Nobody is in this tenant by breaking the glass.";
const visit = {
  id: "bind_1",
  user_id: VISITOR,
  org_id: "org_1",
  reason: "ticket 4711",
  opened_at: "2026-03-14T09:30:00Z",
  expires_at: "2999-03-14T09:30:00Z",
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  forgetNames();
  names.set(new Map([[VISITOR, "Pia Platform"]]));
  const scope = { kind: "platform", org_id: null, project_id: null } as const;
  const permissions = [
    {
      scope,
      permissions: [
        "identity.break_glass.use" as const,
        "identity.binding.manage" as const,
        "identity.user.read" as const,
        "identity.user.manage" as const,
      ],
      only_here: false,
    },
  ];
  const who = { ...person("ada@example.org"), permissions };
  session.set({ kind: "signed_in", who });
  platform = fakePlatform();
  platform.on("GET /api/v1/whoami", () => json(200, who));
  platform.on("GET /api/v1/tenants/org_1", () => json(200, { id: "org_1", display_name: "Acme" }));
  platform.on("GET /api/v1/tenants/org_1/projects", () => json(200, { items: [] }));
  platform.on(LIST, () => json(200, { items: [visit] }));
});

async function open(tab: string): Promise<void> {
  window.history.replaceState(null, "", `/tenants/org_1?tab=${tab}`);
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <TenantPage params={{ org_id: "org_1" }} />
        </Suspense>
      </RouterProvider>,
    ),
  );
  await screen.findByRole("heading", { name: "Acme" });
}

it("says who is in a tenant by name, from whichever page of the list", async () => {
  platform.on(LIST, ({ url }) =>
    new URL(url).searchParams.has("cursor")
      ? json(200, { items: [visit] })
      : json(200, { items: [{ ...visit, id: "bind_0", org_id: "org_2" }], next_cursor: "more" }),
  );
  await open("break-glass");
  expect(await screen.findByText("Pia Platform")).toBeDefined();
  expect(screen.getAllByText("ticket 4711")).toHaveLength(1);
});

it("says that nobody is there only when that was read", async () => {
  platform.on(LIST, () => problem(503, "unavailable"));
  await open("break-glass");
  expect(await screen.findByRole("alert")).toBeDefined();
  expect(screen.queryByText(NOBODY)).toBeNull();
  platform.on(LIST, () => json(200, { items: [] }));
  await userEvent.click(screen.getByRole("button", { name: "Read again" }));
  expect(await screen.findByText(NOBODY)).toBeDefined();
});

it("asks before it ends a visit, and shows why that failed", async () => {
  platform.on("DELETE /api/v1/admin/break-glass/bind_1", () => problem(403, "denied"));
  await open("break-glass");
  await userEvent.click(await screen.findByRole("button", { name: "End it" }));
  const dialog = screen.getByRole("dialog");
  expect(dialog.textContent).toContain("can do nothing inside this tenant any more");
  await userEvent.click(within(dialog).getByRole("button", { name: "End it" }));
  expect((await within(dialog).findByRole("alert")).textContent).toContain("denied");
  platform.on("DELETE /api/v1/admin/break-glass/bind_1", () => new Response(null, { status: 204 }));
  platform.on(LIST, () => json(200, { items: [] }));
  await userEvent.click(within(dialog).getByRole("button", { name: "End it" }));
  expect(await screen.findByText(NOBODY)).toBeDefined();
});

it("says what shutting somebody out does, and who is shut out", async () => {
  const user = { email: "olga@example.org", display_name: "", has_password: true, revision: 1 };
  platform.on("GET /api/v1/users", () =>
    json(200, {
      items: [
        { ...user, id: "user_1", active: true },
        { ...user, id: "user_2", email: "max@example.org", active: false },
      ],
    }),
  );
  await open("people");
  const row = await screen.findByRole("row", { name: /max@example\.org/ });
  expect(within(row).getByText("Shut out")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Shut out olga@example.org" }));
  expect(screen.getByRole("dialog").textContent).toContain("their sessions and tokens");
});

it("requires a second factor of the tenant's people, and says what that does", async () => {
  const sent: unknown[] = [];
  const tenant = { id: "org_1", display_name: "Acme", revision: 3, second_factor_required: false };
  platform.on("GET /api/v1/tenants/org_1", () => json(200, tenant));
  platform.on("GET /api/v1/users", () => json(200, { items: [] }));
  platform.on("PATCH /api/v1/tenants/org_1", async (request) => {
    sent.push(await request.json(), request.headers.get("If-Match"));
    return json(200, tenant);
  });
  const current = session.get();
  if (current.kind !== "signed_in") throw new Error("nobody is signed in");
  const [held] = current.who.permissions;
  if (held === undefined) throw new Error("nothing is held");
  const more = { ...held, permissions: [...held.permissions, "identity.tenant.update" as const] };
  session.set({ kind: "signed_in", who: { ...current.who, permissions: [more] } });
  await open("people");
  await userEvent.click(await screen.findByRole("button", { name: "Require a second factor" }));
  const dialog = screen.getByRole("dialog");
  expect(dialog.textContent).toContain("must set one up before they can do anything else");
  await userEvent.click(within(dialog).getByRole("button", { name: "Require it" }));
  await vi.waitFor(() => expect(sent).toEqual([{ second_factor_required: true }, '"3"']));
});
