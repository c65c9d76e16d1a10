import { act, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { problemFromAnswer } from "../../../src/api/problem.ts";
import { noticeAdd, notices } from "../../../src/app/notices.ts";
import { navigate, RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { Shell } from "../../../src/app/shell.tsx";
import { fakePlatform, json, person } from "../fake-platform.ts";

beforeEach(() => {
  notices.set([]);
  session.set({ kind: "anonymous" });
  vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
  window.history.replaceState(null, "", "/nowhere");
});

const TENANT = { id: "org_1", display_name: "Contoso", slug: "contoso", active: true };

function show(): void {
  render(
    <RouterProvider>
      <Shell />
    </RouterProvider>,
  );
}

it("names a page that does not exist as that, and takes the focus to the next one", async () => {
  const platform = fakePlatform();
  platform.on("GET /api/v1/auth/methods", () => json(200, { local: true }));
  show();
  expect(await screen.findByRole("heading", { name: "There is no such page" })).toBeDefined();
  expect(document.title).toBe("Not found · GPUaaS");
  const trail = within(screen.getByRole("navigation", { name: "Breadcrumbs" }));
  expect(trail.getByRole("link", { name: "GPUaaS" }).getAttribute("href")).toBe("/home");
  expect(trail.getByText("Not found").getAttribute("aria-current")).toBe("page");
  await act(async () => navigate("/nowhere/else"));
  expect(document.activeElement?.id).toBe("content");
  await act(async () => navigate("/sign-in"));
  expect(await screen.findByLabelText("Email")).toBeDefined();
  expect(document.title).toBe("Sign in · GPUaaS");
});

it("ends the trail and the window's name with what the page calls its thing", async () => {
  const platform = fakePlatform();
  let answer: (response: Response) => void = () => undefined;
  platform.on("GET /api/v1/tenants/org_1", () => new Promise((done) => (answer = done)));
  session.set({ kind: "signed_in", who: person("ada@example.org") });
  window.history.replaceState(null, "", "/tenants/org_1");
  show();
  const trail = within(await screen.findByRole("navigation", { name: "Breadcrumbs" }));
  expect((await trail.findByText("Tenant")).getAttribute("aria-current")).toBe("page");
  await screen.findByRole("heading", { level: 1, name: "Tenant" });
  await act(async () => answer(json(200, TENANT)));
  expect((await trail.findByText("Contoso")).getAttribute("aria-current")).toBe("page");
  expect(trail.queryByText("Tenant")).toBeNull();
  expect(document.title).toBe("Contoso · GPUaaS");
  await act(async () => navigate("/nowhere"));
  expect(await trail.findByText("Not found")).toBeDefined();
  expect(trail.queryByText("Contoso")).toBeNull();
  await act(async () => navigate("/home"));
  expect(trail.queryByText("Contoso")).toBeNull();
  // A page that is alone of its kind keeps its place's name, whatever it greets with.
  expect(await screen.findByRole("heading", { level: 1, name: "Hello, Ada" })).toBeDefined();
  expect(trail.getByText("Home").getAttribute("aria-current")).toBe("page");
});

it("shows a problem with its code, sentence, next actions and correlation id", async () => {
  show();
  const answer = new Response(null, { status: 409 });
  const body = {
    code: "in_use",
    title: "The resource is in use",
    detail: "Member mem_1 lives on it.",
    correlation_id: "cor-77",
    next_actions: ["remove_users_first", "ask_the_oracle"],
    errors: [{ pointer: "/allocation_id", message: "is bound" }],
  };
  await act(async () => noticeAdd(problemFromAnswer(answer, body)));
  await act(async () => noticeAdd(problemFromAnswer(answer, body)));
  const flash = within(await screen.findByRole("alert"));
  for (const text of [
    "The resource is in use",
    "Member mem_1 lives on it.",
    "Remove what uses it first.",
    "Ask the oracle.",
    "/allocation_id",
    "in_use",
    "cor-77",
  ]) {
    expect(flash.getByText(text)).toBeDefined();
  }
  await userEvent.click(screen.getByRole("button", { name: "Dismiss" }));
  expect(notices.get()).toEqual([]);
});

it("asks to sign in again over the page when the session has expired", async () => {
  const platform = fakePlatform();
  const ada = person("ada@example.org");
  platform.on("GET /api/v1/auth/methods", () =>
    json(200, { local: true, oidc: { name: "Contoso", start_url: "/api/v1/auth/oidc/start" } }),
  );
  platform.on("POST /api/v1/sessions", () => json(201, {}));
  platform.on("GET /api/v1/whoami", () => json(200, ada));
  session.set({ kind: "expired", who: ada });
  show();
  const dialog = within(await screen.findByRole("dialog"));
  const provider = await dialog.findByRole("link", { name: /Contoso/ });
  expect(provider.getAttribute("target")).toBe("_blank");
  await userEvent.type(dialog.getByLabelText("Password"), "secret{Enter}");
  await vi.waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(window.location.pathname).toBe("/nowhere");
});
