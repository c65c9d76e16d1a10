import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { session } from "../../../src/app/session.ts";
import { SignInForm } from "../../../src/widgets/sign-in-form.tsx";
import { type FakePlatform, fakePlatform, json, problem } from "../fake-platform.ts";

let platform: FakePlatform;

beforeEach(() => {
  platform = fakePlatform();
  platform.on("GET /api/v1/auth/methods", () => json(200, { local: true }));
  session.set({ kind: "anonymous" });
});

const ANSWERS = ["second_factor_needed", "sign_in_failed"];

async function send(email: string, password: string): Promise<void> {
  const user = userEvent.setup();
  if (email !== "") await user.type(await screen.findByLabelText("Email"), email);
  if (password !== "") await user.type(screen.getByLabelText("Password"), password);
  await user.click(screen.getByRole("button", { name: "Sign in" }));
}

it("asks again by itself when the platform did not answer", async () => {
  let asked = 0;
  platform.on("GET /api/v1/auth/methods", () => {
    asked += 1;
    return asked === 1 ? problem(503, "unavailable") : json(200, { local: true });
  });
  render(<SignInForm returnTo="/platform" />);
  expect((await screen.findByRole("alert")).textContent).toContain("unavailable");
  expect(await screen.findByLabelText("Email", {}, { timeout: 5000 })).toBeDefined();
  expect(screen.queryByRole("alert")).toBeNull();
});

describe("with a password", () => {
  it("signs in", async () => {
    platform.on("POST /api/v1/sessions", () => json(201, {}));
    platform.on("GET /api/v1/whoami", () => json(200, { id: "user_1" }));
    render(<SignInForm returnTo="/platform" />);
    await send("ada@example.org", "secret");
    await vi.waitFor(() => expect(session.get().kind).toBe("signed_in"));
  });

  it("asks for the code of a second factor and sends it with the same password", async () => {
    const sent: unknown[] = [];
    platform.on("POST /api/v1/sessions", async (request) => {
      sent.push(await request.json());
      return sent.length === 3 ? json(201, {}) : problem(401, ANSWERS[sent.length - 1] ?? "");
    });
    platform.on("GET /api/v1/whoami", () => json(200, { id: "user_1" }));
    render(<SignInForm returnTo="/platform" />);
    await send("ada@example.org", "secret");
    const user = userEvent.setup();
    const code = await screen.findByLabelText("Code");
    expect(screen.queryByRole("alert")).toBeNull();
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(screen.getByText("Enter the code.")).toBeDefined();
    await user.type(code, "000000");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect((await screen.findByRole("alert")).textContent).toContain("sign_in_failed");
    expect(screen.getByLabelText<HTMLInputElement>("Code").value).toBe("");
    await user.type(code, " 123456");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    await vi.waitFor(() => expect(session.get().kind).toBe("signed_in"));
    const who = { email: "ada@example.org", password: "secret" };
    expect(sent).toEqual([who, { ...who, code: "000000" }, { ...who, code: "123456" }]);
  });

  it("says what is missing and sends nothing", async () => {
    render(<SignInForm returnTo="/platform" />);
    await send("ada@example.org", "");
    expect(screen.getByText("Enter your password.")).toBeDefined();
    expect(platform.requests.map(({ method }) => method)).toEqual(["GET"]);
  });

  it("shows a refusal, forgets the password and can be used at once", async () => {
    platform.on("POST /api/v1/sessions", () => problem(401, "sign_in_failed"));
    render(<SignInForm returnTo="/platform" />);
    await send("ada@example.org", "wrong");
    expect((await screen.findByRole("alert")).textContent).toContain("sign_in_failed");
    expect(screen.getByLabelText<HTMLInputElement>("Password").value).toBe("");
    expect(screen.getByRole("button", { name: "Sign in" }).hasAttribute("disabled")).toBe(false);
    expect(session.get().kind).toBe("anonymous");
  });

  it("waits as long as the platform asks", async () => {
    platform.on("POST /api/v1/sessions", () =>
      problem(429, "rate_limited", {}, { "Retry-After": "1" }),
    );
    render(<SignInForm returnTo="/platform" />);
    await send("ada@example.org", "wrong");
    const button = await screen.findByRole("button", { name: "Try again in 1 s" });
    expect(button.hasAttribute("disabled")).toBe(true);
    expect(await screen.findByRole("button", { name: "Sign in" }, { timeout: 5000 })).toBeDefined();
  });
});

describe("where the password is that of several accounts", () => {
  const accounts = [
    { user_id: "user_1", org_id: "org_1", org_name: "Acme", needs_password: false },
    { user_id: "user_2", org_id: null, org_name: null, needs_password: false },
  ];

  it("asks which one, and signs in to that", async () => {
    const sent: unknown[] = [];
    platform.on("POST /api/v1/sessions", async (request) => {
      const body: { user_id?: string } = await request.json();
      sent.push(body);
      return body.user_id === undefined ? json(200, { accounts }) : json(201, {});
    });
    platform.on("GET /api/v1/whoami", () => json(200, { id: "user_1" }));
    render(<SignInForm returnTo="/platform" />);
    await send("ada@example.org", "secret");
    expect(await screen.findByText(/more than one account/)).toBeDefined();
    expect(session.get().kind).toBe("anonymous");
    expect(screen.getByRole("button", { name: "The platform's operator" })).toBeDefined();
    await userEvent.click(screen.getByRole("button", { name: "Acme" }));
    await vi.waitFor(() => expect(session.get().kind).toBe("signed_in"));
    expect(sent[1]).toEqual({ email: "ada@example.org", password: "secret", user_id: "user_1" });
  });

  it("leads back to another email, and forgets the password", async () => {
    platform.on("POST /api/v1/sessions", () => json(200, { accounts }));
    render(<SignInForm returnTo="/platform" />);
    await send("ada@example.org", "secret");
    await userEvent.click(
      await screen.findByRole("button", { name: "Use another email or password" }),
    );
    expect(screen.getByLabelText<HTMLInputElement>("Password").value).toBe("");
  });
});

describe("the ways to sign in", () => {
  it("asks for a tenant's own provider by the link its people have", async () => {
    platform.on("GET /api/v1/auth/methods", (request) => {
      expect(new URL(request.url).searchParams.get("provider")).toBe("idp_1");
      const start_url = "/api/v1/auth/oidc/start?provider=idp_1";
      return json(200, { local: true, oidc: { name: "Acme", start_url } });
    });
    render(<SignInForm returnTo="/instances" provider="idp_1" />);
    const link = await screen.findByRole("link", { name: "Sign in with Acme" });
    expect(link.getAttribute("href")).toBe(
      "/api/v1/auth/oidc/start?provider=idp_1&return_to=%2Finstances",
    );
  });

  it("offers the provider the platform names, and the way back", async () => {
    platform.on("GET /api/v1/auth/methods", () =>
      json(200, { local: false, oidc: { name: "Contoso", start_url: "/api/v1/auth/oidc/start" } }),
    );
    render(<SignInForm returnTo="/instances?x=1" />);
    const link = await screen.findByRole("link", { name: "Sign in with Contoso" });
    expect(link.getAttribute("href")).toBe(
      "/api/v1/auth/oidc/start?return_to=%2Finstances%3Fx%3D1",
    );
    expect(screen.queryByLabelText("Password")).toBeNull();
  });

  it("says so when there is none", async () => {
    platform.on("GET /api/v1/auth/methods", () => json(200, { local: false }));
    render(<SignInForm returnTo="/platform" />);
    expect(await screen.findByText(/no way to sign in/)).toBeDefined();
  });

  it("says so when the platform does not answer, and asks again on demand", async () => {
    platform.on("GET /api/v1/auth/methods", () => Promise.reject(new TypeError("down")));
    render(<SignInForm returnTo="/platform" />);
    expect((await screen.findByRole("alert")).textContent).toContain("does not answer");
    platform.on("GET /api/v1/auth/methods", () => json(200, { local: true }));
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByLabelText("Email")).toBeDefined();
  });
});
