import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { session } from "../../../src/app/session.ts";
import { PendingSignIn } from "../../../src/pages/sign-in/pending.tsx";
import { type FakePlatform, fakePlatform, json, problem } from "../fake-platform.ts";

const acme = { user_id: "user_1", org_id: "org_1", org_name: "Acme", needs_password: true };
const other = { user_id: "user_2", org_id: "org_2", org_name: "Other", needs_password: false };
const PENDING = "/api/v1/auth/oidc/pending";

let platform: FakePlatform;
let sent: unknown[];

function waits(...accounts: readonly object[]): void {
  platform.on(`GET ${PENDING}`, () =>
    json(200, {
      email: "ada@example.org",
      provider_name: "Contoso",
      accounts,
      expires_at: "2026-01-01T00:10:00Z",
    }),
  );
}

beforeEach(() => {
  platform = fakePlatform();
  sent = [];
  platform.on(`POST ${PENDING}`, async (request) => {
    sent.push(await request.json());
    return json(201, {});
  });
  platform.on("GET /api/v1/whoami", () => json(200, { id: "user_1" }));
  session.set({ kind: "anonymous" });
});

it("asks for the password of an account once, and links it", async () => {
  waits(acme);
  render(<PendingSignIn />);
  expect(await screen.findByText(/account of Acme has a password/)).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Link and sign in" }));
  expect(screen.getByText("Enter the account's password.")).toBeDefined();
  expect(sent).toEqual([]);
  await userEvent.type(screen.getByLabelText("Password"), "secret");
  await userEvent.click(screen.getByRole("button", { name: "Link and sign in" }));
  await vi.waitFor(() => expect(session.get().kind).toBe("signed_in"));
  expect(sent).toEqual([{ user_id: "user_1", password: "secret" }]);
});

it("offers to remove a password the person does not know", async () => {
  waits(acme);
  render(<PendingSignIn />);
  await userEvent.click(
    await screen.findByRole("button", { name: "Remove the password and sign in" }),
  );
  await vi.waitFor(() => expect(session.get().kind).toBe("signed_in"));
  expect(sent).toEqual([{ user_id: "user_1", remove_password: true }]);
});

it("lets the person choose among several, each as it needs", async () => {
  waits(acme, other);
  render(<PendingSignIn />);
  await userEvent.click(await screen.findByRole("button", { name: "Other" }));
  await vi.waitFor(() => expect(session.get().kind).toBe("signed_in"));
  expect(sent).toEqual([{ user_id: "user_2" }]);
});

it("says that a password was wrong and can be used at once", async () => {
  waits(acme);
  platform.on(`POST ${PENDING}`, () => problem(401, "sign_in_failed"));
  render(<PendingSignIn />);
  await userEvent.type(await screen.findByLabelText("Password"), "wrong");
  await userEvent.click(screen.getByRole("button", { name: "Link and sign in" }));
  expect((await screen.findByRole("alert")).textContent).toContain("sign_in_failed");
  expect(screen.getByLabelText<HTMLInputElement>("Password").value).toBe("");
});

it("says that nothing waits any more, and leads to the sign-in page", async () => {
  platform.on(`GET ${PENDING}`, () => problem(404, "not_found"));
  render(<PendingSignIn />);
  expect((await screen.findByRole("alert")).textContent).toContain("not_found");
  const link = screen.getByRole("link", { name: "Sign in another way" });
  expect(link.getAttribute("href")).toBe("/sign-in");
});
