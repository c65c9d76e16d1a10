import { act, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import type { Permission } from "../../../src/api/contract.ts";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import AccessPage from "../../../src/pages/access/index.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const AT = "2026-03-14T09:30:00Z";
const PROJECT = "/api/v1/projects/proj_1";
const ALL: readonly Permission[] = [
  "identity.person.read",
  "identity.service_account.read",
  "identity.service_account.manage",
  "identity.binding.read",
  "identity.binding.manage",
  "identity.authorization.explain",
  "custody.secret.read",
  "custody.secret.manage",
  "custody.credential.read",
  "custody.credential.manage",
];
const olga = {
  user_id: "user_1",
  email: "olga@example.org",
  display_name: "Olga Owner",
  posix_name: "olga",
  posix_uid: 20_001,
  active: true,
  roles: ["project_admin"],
  permissions: [],
};
const operator = {
  id: "sa_1",
  org_id: "org_1",
  project_id: "proj_1",
  name: "operator",
  description: "",
  roles: ["app_operator"],
  active: true,
  created_at: AT,
};
const secret = {
  id: "sec_1",
  name: "database",
  status: "active",
  version: 3,
  expires_at: null,
  created_by: "user_1",
};
const credential = {
  id: "cred_1",
  name: "old-hosts",
  username: "root",
  fingerprint: "SHA256:abc",
  status: "active",
  deliveries: 0,
  deliveries_max: 9,
  expires_at: AT,
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  signIn(ALL);
  platform = fakePlatform();
  lists("/api/v1/projects");
  lists("/api/v1/role-bindings");
  lists(`${PROJECT}/people`, olga);
  lists(`${PROJECT}/service-accounts`, operator);
  lists("/api/v1/runtime-secrets", secret);
  lists("/api/v1/access-credentials", credential);
  lists("/api/v1/permissions", { key: "apps.instance.create", description: "Deploy apps." });
  platform.on(`GET ${PROJECT}`, () =>
    json(200, { id: "proj_1", org_id: "org_1", display_name: "Vision", active: true }),
  );
});

function signIn(permissions: readonly Permission[]): void {
  const scope = { kind: "tenant", org_id: "org_1", project_id: null } as const;
  const granted = [{ scope, permissions: [...permissions], only_here: false }];
  session.set({
    kind: "signed_in",
    who: { ...person("ada@example.org"), permissions: granted },
  });
}

function lists(path: string, ...items: unknown[]): void {
  platform.on(`GET ${path}`, () => json(200, { items }));
}

async function open(tab = ""): Promise<void> {
  window.history.replaceState(null, "", `/projects/proj_1/access?tab=${tab}`);
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <AccessPage params={{ project_id: "proj_1" }} />
        </Suspense>
      </RouterProvider>,
    ),
  );
  await screen.findByRole("heading", { name: "Access" });
}

async function press(name: string): Promise<void> {
  await userEvent.click(await screen.findByRole("button", { name }));
}

/** The body of the one request of this kind. */
async function sent(method: string, path: string): Promise<unknown> {
  const [request] = platform.requests.filter(
    (one) => one.method === method && new URL(one.url).pathname === path,
  );
  return request?.json();
}

it("says that a project is not in reach", async () => {
  platform.on(`GET ${PROJECT}`, () => problem(404, "not_found", { detail: "There is no such." }));
  await open();
  expect((await screen.findByRole("alert")).textContent).toContain("There is no such.");
  expect(screen.queryByRole("tab")).toBeNull();
});

it("shows who is shut out", async () => {
  const hidden = { user_id: "user_2", active: false, roles: null, permissions: null };
  lists(`${PROJECT}/people`, olga, { ...olga, ...hidden });
  await open();
  expect(await screen.findByText("Shut out")).toBeDefined();
  expect(screen.getAllByText("Not shown to you")).toHaveLength(2);
  expect(screen.getByText("Yes")).toBeDefined();
});

it("explains for somebody chosen by name, and forgets the answer for others", async () => {
  platform.on("POST /api/v1/authorization/explain", () =>
    json(200, { allowed: true, summary: "They may.", bindings: [], roles_that_would_do: [] }),
  );
  await open("explain");
  const who = await screen.findByRole("combobox", { name: "Who" });
  await userEvent.click(who);
  expect(await screen.findByText("operator")).toBeDefined();
  await userEvent.click(await screen.findByText("Olga Owner (olga@example.org)"));
  await press("Explain");
  expect(await screen.findByText("They may.")).toBeDefined();
  expect(await sent("POST", "/api/v1/authorization/explain")).toMatchObject({
    principal_id: "user_1",
    scope: { kind: "project", project_id: "proj_1" },
  });
  await userEvent.clear(who);
  await userEvent.type(who, "sa_9");
  expect(screen.queryByText("They may.")).toBeNull();
});

it("rotates a secret, and says what that does", async () => {
  platform.on("POST /api/v1/runtime-secrets/sec_1/rotate", () => json(200, secret));
  await open("secrets");
  await press("Rotate database");
  const dialog = screen.getByRole("dialog");
  expect(dialog.textContent).toContain("Version 4 takes over at once");
  await userEvent.click(within(dialog).getByRole("button", { name: "Rotate" }));
  expect(await sent("POST", "/api/v1/runtime-secrets/sec_1/rotate")).toEqual({
    random: { length: 32, encoding: "base64url", template: "{secret}" },
  });
});

it("offers to change no secret to whoever may only read them", async () => {
  signIn(ALL.filter((key) => !key.endsWith(".manage")));
  await open("secrets");
  expect(await screen.findByText("database")).toBeDefined();
  expect(screen.queryByRole("button", { name: "Rotate database" })).toBeNull();
});

it("says what rotating a key in custody does to the one before", async () => {
  await open("credentials");
  await press("Rotate old-hosts");
  expect(screen.getByRole("dialog").textContent).toContain("the old one is deleted");
});

it("opens the form for a service account at once, and says why roles cannot be read", async () => {
  platform.on("GET /api/v1/roles", () => problem(503, "unavailable"));
  await open("service-accounts");
  await press("Make a service account");
  const dialog = await screen.findByRole("dialog", { name: "Make a service account" });
  expect(await within(dialog).findByRole("alert")).toBeDefined();
  lists("/api/v1/roles", { id: "app_operator", name: "app_operator", description: "" });
  await userEvent.click(within(dialog).getByRole("button", { name: "Read again" }));
  expect(await screen.findByRole("textbox", { name: /What for/ })).toBeDefined();
});

it("opens the form for a role at once, and says why roles cannot be read", async () => {
  platform.on("GET /api/v1/roles", () => problem(503, "unavailable"));
  await open();
  await press("Give a role");
  const dialog = await screen.findByRole("dialog", { name: "Give a role" });
  expect(await within(dialog).findByRole("alert")).toBeDefined();
});
