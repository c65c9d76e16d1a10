import { screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import type { Whoami } from "../../../src/api/contract.ts";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import AccountPage from "../../../src/pages/account/index.tsx";
import PersonPage from "../../../src/pages/person/index.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const AT = "2026-03-14T09:30:00Z";
const LATER = "2999-03-14T09:30:00Z";
const TOKEN = {
  id: "tok_1",
  name: "nightly",
  permissions: ["apps.instance.read"],
  scope: { kind: "project", org_id: "org_1", project_id: "proj_1" },
  created_at: AT,
  expires_at: LATER,
  revoked_at: null,
  last_used_at: null,
};
const SESSION = {
  id: "sess_1",
  user_id: "user_1",
  created_at: AT,
  expires_at: LATER,
  idle_until: LATER,
  last_used_at: AT,
  source: "203.0.113.7",
  current: true,
};
const FAILURE = {
  id: "sif_1",
  source: "198.51.100.9",
  attempts: 12,
  first_at: AT,
  last_at: AT,
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
  for (const base of ["", "/users/user_9"]) {
    platform.on(`GET /api/v1${base}/personal-tokens`, () => json(200, { items: [TOKEN] }));
    platform.on(`GET /api/v1${base}/sessions`, () => json(200, { items: [SESSION] }));
    platform.on(`GET /api/v1${base}/sign-in-failures`, () => json(200, { items: [FAILURE] }));
  }
  platform.on("GET /api/v1/second-factors", () => json(200, { items: [] }));
});

async function account(more: Partial<Whoami> = {}): Promise<void> {
  const who = { ...person("ada@example.org"), ...more };
  session.set({ kind: "signed_in", who });
  platform.on("GET /api/v1/whoami", () => json(200, who));
  await drawn(<AccountPage />, "/account");
}

async function bodyOf(method: string): Promise<unknown> {
  return await platform.requests.find((one) => one.method === method)?.json();
}

it("shows where sessions come from, failed sign-ins, and what a token is narrowed to", async () => {
  await account();
  expect(await screen.findByText("203.0.113.7")).toBeDefined();
  expect(await screen.findByText("There were failed sign-ins to this account")).toBeDefined();
  expect(screen.getByText("198.51.100.9")).toBeDefined();
  expect(screen.getByText("apps.instance.read, in one project")).toBeDefined();
});

it("ends the tokens it lists with a new password, unless that is taken away", async () => {
  const user = userEvent.setup();
  platform.on("PUT /api/v1/users/user_1/password", () => new Response(null, { status: 204 }));
  await account();
  await user.click(screen.getByRole("button", { name: "Change the password" }));
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("Tokens for scripts that work now:nightly");
  await user.type(within(dialog).getByLabelText(/Present password/), "secret");
  await user.type(within(dialog).getByLabelText(/New password/), "correct horse battery");
  const ending = within(dialog).getByRole("checkbox", { name: /End the tokens for scripts too/ });
  expect((ending as HTMLInputElement).checked).toBe(true);
  await user.click(within(dialog).getByRole("button", { name: "Change it" }));
  await vi.waitFor(async () => expect(await bodyOf("PUT")).toMatchObject({ end_tokens: true }));
});

it("signs out everywhere, with the tokens, and leaves", async () => {
  const user = userEvent.setup();
  platform.on("DELETE /api/v1/sessions", () => json(200, { sessions: 2, tokens: 1 }));
  await account();
  await user.click(await screen.findByRole("button", { name: "Sign out everywhere" }));
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("nightly");
  await user.click(within(dialog).getByRole("button", { name: "Sign out everywhere" }));
  await vi.waitFor(() => expect(session.get().kind).toBe("anonymous"));
  const sent = platform.requests.find(({ method }) => method === "DELETE");
  expect(new URL(sent?.url ?? "").searchParams.get("tokens")).toBe("true");
});

it("shows nothing but the setting up while a second factor is due", async () => {
  await account({ second_factor_due: true });
  expect(screen.getByText("Set up a second factor to go on")).toBeDefined();
  expect(screen.queryByText("Where you are signed in")).toBeNull();
});

it("sets up an authenticator app and shows the recovery codes once", async () => {
  const user = userEvent.setup();
  const begun = { id: "fac_1", secret: "GEZDGNBVGY3TQOJQ", uri: "otpauth://totp/x?secret=y" };
  const factor = { id: "fac_1", kind: "totp", name: "Phone", created_at: AT, last_used_at: AT };
  platform.on("POST /api/v1/second-factors", () => json(201, begun));
  platform.on("POST /api/v1/second-factors/fac_1/confirm", async (request) => {
    const { code } = await request.json();
    if (code === "000000") return problem(422, "invalid_request", { detail: "/code: is wrong" });
    return json(200, { factor, recovery_codes: ["BCDF-GHJK", "LMNP-QRST"] });
  });
  await account();
  await user.click(screen.getByRole("button", { name: "Set up an authenticator app" }));
  await user.type(await screen.findByLabelText(/Present password/), "secret");
  await user.click(screen.getByRole("button", { name: "Show the key" }));
  const dialog = await screen.findByRole("dialog", { name: "Type the code your app shows" });
  expect(dialog.textContent).toContain("GEZDGNBVGY3TQOJQ");
  const code = within(dialog).getByLabelText(/Code/);
  await user.type(code, "000000");
  await user.click(within(dialog).getByRole("button", { name: "Confirm" }));
  await vi.waitFor(() => expect(dialog.textContent).toContain("invalid_request"));
  await user.clear(code);
  await user.type(code, "123456");
  await user.click(within(dialog).getByRole("button", { name: "Confirm" }));
  expect(await screen.findByText("Your recovery codes are shown once")).toBeDefined();
  expect(document.body.textContent).toContain("BCDF-GHJK");
});

it("lets an administrator see and end what a person of the tenant has", async () => {
  const user = userEvent.setup();
  const scope = { kind: "tenant", org_id: "org_1", project_id: null } as const;
  const permissions = [{ scope, permissions: ["identity.user.manage" as const], only_here: false }];
  session.set({ kind: "signed_in", who: { ...person("boss@example.org"), permissions } });
  platform.on("GET /api/v1/users/user_9", () =>
    json(200, {
      id: "user_9",
      org_id: "org_1",
      email: "eve@example.org",
      display_name: "Eve",
      active: true,
      last_sign_in_at: AT,
    }),
  );
  const revoke = "DELETE /api/v1/users/user_9/personal-tokens/tok_1";
  platform.on(revoke, () => new Response(null, { status: 204 }));
  await drawn(<PersonPage params={{ user_id: "user_9" }} />, "/people/user_9");
  expect(await screen.findByText("Where they are signed in")).toBeDefined();
  expect(screen.getByText("198.51.100.9")).toBeDefined();
  await user.click(await screen.findByRole("button", { name: "Revoke nightly" }));
  await user.click(screen.getByRole("button", { name: "Revoke" }));
  await vi.waitFor(() => expect(platform.requests.map(({ method }) => method)).toContain("DELETE"));
  await user.click(screen.getByRole("button", { name: "Reset the password" }));
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("All their sessions and tokens end at once.");
});

it("adds a passkey that the browser makes", async () => {
  const user = userEvent.setup();
  const made = { id: "AAAA", type: "public-key" };
  class FakeCredential {
    static parseCreationOptionsFromJSON = (options: unknown) => options;
    toJSON = () => made;
  }
  vi.stubGlobal("PublicKeyCredential", FakeCredential);
  const create = vi.fn(async () => new FakeCredential());
  Object.defineProperty(navigator, "credentials", { configurable: true, value: { create } });
  const sent: unknown[] = [];
  const options = { challenge: "BBBB" };
  platform.on("POST /api/v1/second-factors", async (request) => {
    sent.push(await request.json());
    return json(201, { id: "fac_2", options });
  });
  platform.on("POST /api/v1/second-factors/fac_2/confirm", async (request) => {
    sent.push(await request.json());
    return json(200, { factor: {}, recovery_codes: null });
  });
  await account();
  await user.click(screen.getByRole("button", { name: "Add a passkey" }));
  await user.type(await screen.findByLabelText(/Present password/), "secret");
  await user.click(screen.getByRole("button", { name: "Make it" }));
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  expect(create).toHaveBeenCalledWith({ publicKey: options });
  expect(sent).toEqual([
    { kind: "passkey", name: "Passkey", current_password: "secret" },
    { passkey: made },
  ]);
});
