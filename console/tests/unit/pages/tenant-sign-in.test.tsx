import { screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { Domains } from "../../../src/pages/tenant/domains.tsx";
import { Groups } from "../../../src/pages/tenant/groups.tsx";
import { Providers } from "../../../src/pages/tenant/providers.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, person } from "../fake-platform.ts";

const provider = {
  id: "idp_1",
  org_id: "org_1",
  name: "Contoso",
  issuer: "https://id.example.org",
  client_id: "gpuaas",
  has_secret: true,
  scopes: "openid email",
  groups_claim: "groups",
  create_users: true,
  trust_email: false,
  active: true,
  state: "needs_domain",
  next_action: "claim_domain",
  problem: null,
  checked_at: "2026-01-01T00:00:00Z",
  sign_in_path: "/sign-in?provider=idp_1",
  redirect_path: "/api/v1/auth/oidc/callback/idp_1",
  revision: 1,
  created_by: "user_1",
  created_at: "2026-01-01T00:00:00Z",
};
const claim = {
  id: "dom_1",
  org_id: "org_1",
  domain: "example.org",
  state: "pending",
  next_action: "publish_record",
  record_name: "_gpuaas-challenge.example.org",
  record_value: "gpuaas-domain-verification=abc",
  verified_at: null,
  verified_by: null,
  created_by: "user_1",
  created_at: "2026-01-01T00:00:00Z",
};

let platform: FakePlatform;

function holding(...permissions: readonly string[]): void {
  const scope = { kind: "tenant", org_id: "org_1", project_id: null };
  const who = {
    ...person("ada@example.org"),
    permissions: [{ scope, permissions, only_here: false }],
  } as ReturnType<typeof person>;
  session.set({ kind: "signed_in", who });
  platform.on("GET /api/v1/whoami", () => json(200, who));
}

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
  holding("identity.provider.manage", "identity.provider.read");
  platform.on("GET /api/v1/tenants/org_1/identity-providers", () =>
    json(200, { items: [provider] }),
  );
  platform.on("GET /api/v1/tenants/org_1/domains", () => json(200, { items: [claim] }));
});

it("shows a provider with its state and what is next", async () => {
  await drawn(<Providers orgId="org_1" />);
  expect(await screen.findByText("Contoso")).toBeDefined();
  expect(screen.getByText("Needs domain")).toBeDefined();
  expect(screen.getByText("Claim a domain below")).toBeDefined();
});

it("changes nothing for who may only look", async () => {
  holding("identity.provider.read");
  await drawn(<Providers orgId="org_1" />);
  expect(await screen.findByText("Contoso")).toBeDefined();
  expect(screen.queryByRole("button", { name: "Add a provider" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Remove Contoso" })).toBeNull();
});

it("stops sign-in through a provider after asking", async () => {
  const sent: unknown[] = [];
  platform.on("PATCH /api/v1/identity-providers/idp_1", async (request) => {
    sent.push(await request.json());
    return json(200, { ...provider, active: false });
  });
  await drawn(<Providers orgId="org_1" />);
  await userEvent.click(await screen.findByRole("button", { name: "Stop Contoso" }));
  const dialog = within(await screen.findByRole("dialog"));
  await userEvent.click(dialog.getByRole("button", { name: "Stop" }));
  expect(sent).toEqual([{ active: false }]);
});

it("shows the record that proves a claim, and verifies it", async () => {
  let asked = 0;
  platform.on("POST /api/v1/domains/dom_1/verify", () => {
    asked += 1;
    return json(200, { ...claim, state: "verified" });
  });
  await drawn(<Domains orgId="org_1" />);
  expect(await screen.findByText("Publish its TXT record, then verify")).toBeDefined();
  expect(screen.queryByRole("button", { name: "Decide example.org" })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Verify example.org" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(claim.record_name)).toBeDefined();
  expect(dialog.getByText(claim.record_value)).toBeDefined();
  await userEvent.click(dialog.getByRole("button", { name: "Verify" }));
  expect(asked).toBe(1);
});

it("gives a role to a group of the tenant's own provider", async () => {
  holding("identity.provider.read", "identity.binding.manage");
  const sent: unknown[] = [];
  const role = { id: "auditor", name: "auditor", built_in: true, permissions: [], org_id: null };
  platform.on("GET /api/v1/group-mappings", () => json(200, { items: [] }));
  platform.on("GET /api/v1/roles", () => json(200, { items: [role] }));
  platform.on("POST /api/v1/group-mappings", async (request) => {
    sent.push(await request.json());
    return json(201, {});
  });
  const user = userEvent.setup();
  await drawn(<Groups place={{ org_id: "org_1", project_id: null }} />);
  await user.click(await screen.findByRole("button", { name: "Give a group a role" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.click(await dialog.findByRole("button", { name: /^Provider/ }));
  await user.click(await screen.findByRole("option", { name: /Contoso/ }));
  await user.type(dialog.getByLabelText(/^Group/), "staff");
  await user.click(dialog.getByRole("button", { name: /^Role/ }));
  await user.click(await screen.findByRole("option", { name: /Auditor/i }));
  await user.click(dialog.getByRole("button", { name: "Give it" }));
  expect(sent).toEqual([
    {
      group: "staff",
      role: "auditor",
      scope: { kind: "tenant", org_id: "org_1" },
      provider_id: "idp_1",
    },
  ]);
});
