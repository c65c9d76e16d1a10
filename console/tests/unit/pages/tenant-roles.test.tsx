import { screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { Roles } from "../../../src/pages/tenant/roles.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, person } from "../fake-platform.ts";

const PLACE = { org_id: "org_1", project_id: null };
const role = { description: "", org_id: null, built_in: true, revision: 3, created_at: null };
const watcher = {
  ...role,
  id: "role_1",
  name: "watcher",
  org_id: "org_1",
  built_in: false,
  permissions: ["audit.entry.read"],
};
const builtIn = { ...role, id: "tenant_admin", name: "tenant_admin", permissions: [] };

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  const scope = { kind: "tenant", org_id: "org_1", project_id: null } as const;
  const permissions = [
    {
      scope,
      permissions: ["identity.role.manage" as const, "apps.instance.read" as const],
      only_here: false,
    },
  ];
  const who = { ...person("ada@example.org"), permissions };
  session.set({ kind: "signed_in", who });
  platform = fakePlatform();
  platform.on("GET /api/v1/whoami", () => json(200, who));
  platform.on("GET /api/v1/roles", () => json(200, { items: [watcher, builtIn] }));
  const known = ["apps.instance.read", "audit.entry.read", "identity.user.manage"];
  platform.on("GET /api/v1/permissions", () =>
    json(200, { items: known.map((key) => ({ key, description: `About ${key}` })) }),
  );
});

it("changes a tenant's own roles alone", async () => {
  await drawn(<Roles place={PLACE} />);
  expect(await screen.findByRole("button", { name: "Change watcher" })).toBeDefined();
  expect(screen.queryByRole("button", { name: "Change tenant_admin" })).toBeNull();
  expect(screen.getByRole("button", { name: "0 things that tenant_admin allows" })).toBeDefined();
});

it("offers what one holds oneself and keeps what is in, and sends the revision that was read", async () => {
  const sent: Request[] = [];
  platform.on("PATCH /api/v1/roles/role_1", (request) => {
    sent.push(request);
    return json(200, watcher);
  });
  const user = userEvent.setup();
  await drawn(<Roles place={PLACE} />);
  await user.click(await screen.findByRole("button", { name: "Change watcher" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.click(dialog.getByRole("button", { name: /^Permissions/ }));
  const options = await screen.findAllByRole("option");
  const [first, second, ...rest] = options;
  expect(first?.textContent).toContain("apps.instance.read: About apps.instance.read");
  expect(second?.textContent).toContain("audit.entry.read");
  expect(rest).toEqual([]);
  await user.click(first as HTMLElement);
  await user.click(dialog.getByRole("button", { name: "Save" }));
  expect(sent[0]?.headers.get("If-Match")).toBe('"3"');
  expect(await sent[0]?.json()).toEqual({
    description: "",
    permissions: ["apps.instance.read", "audit.entry.read"],
  });
});
