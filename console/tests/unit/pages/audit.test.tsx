import { act, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import AuditPage from "../../../src/pages/audit/index.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const VERIFICATION = "GET /api/v1/audit/verification";
const AT = "2026-03-14T09:30:00Z";
const part = { ok: true, verified_to: 20, next_after: 20, heads: 2, waiting: 0, fault: null };
const last = { ...part, verified_to: 33, next_after: null, heads: 1 };

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  window.history.replaceState(null, "", "/audit");
  const keys = ["audit.chain.verify", "identity.user.read"] as const;
  const scope = { kind: "platform", org_id: null, project_id: null } as const;
  const permissions = [{ scope, permissions: [...keys], only_here: false }];
  session.set({ kind: "signed_in", who: { ...person("ada@example.org"), permissions } });
  platform = fakePlatform();
  platform.on("GET /api/v1/audit", () => json(200, { items: [] }));
  platform.on("GET /api/v1/projects", () =>
    json(200, { items: [project("proj_1", "Vision"), project("proj_2", "Speech")] }),
  );
  platform.on("GET /api/v1/users", () =>
    json(200, {
      items: [{ id: "user_7", display_name: "Olga Owner", email: "olga@example.org" }],
    }),
  );
  platform.on("GET /api/v1/audit/head", () => json(200, { seq: 33, hash: "abc", at: AT }));
});

function project(id: string, display_name: string) {
  return { id, org_id: "org_1", name: id, display_name, active: true };
}

/** Each request for a stretch gets the next of these answers. */
function stretches(...answers: (() => Response)[]): void {
  platform.on(VERIFICATION, () => answers.shift()?.() ?? problem(500, "too_many"));
}

function places(): (string | null)[] {
  return platform.requests
    .map(({ url }) => new URL(url))
    .filter(({ pathname }) => pathname.endsWith("/verification"))
    .map(({ searchParams }) => searchParams.get("after"));
}

async function open(): Promise<void> {
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <AuditPage />
        </Suspense>
      </RouterProvider>,
    ),
  );
  await screen.findByRole("heading", { name: "Audit" });
}

async function press(name: string): Promise<void> {
  await userEvent.click(screen.getByRole("button", { name }));
}

it("calls the chain sound after its last stretch", async () => {
  stretches(
    () => json(200, part),
    () => json(200, last),
  );
  await open();
  await press("Verify the chain");
  expect(await screen.findByText("The chain is sound")).toBeDefined();
  expect(screen.getByText(/33 entries recomputed, 3 signed heads agree/)).toBeDefined();
  expect(places()).toEqual(["0", "20"]);
});

it("says how far a run came that broke off, and goes on from there", async () => {
  stretches(
    () => json(200, part),
    () => problem(503, "unavailable"),
    () => json(200, last),
  );
  await open();
  await press("Verify the chain");
  expect(await screen.findByRole("alert")).toBeDefined();
  expect(screen.getByText(/Sound up to entry 20; what follows was not verified/)).toBeDefined();
  expect(screen.queryByText("The chain is sound")).toBeNull();
  await press("Go on");
  expect(await screen.findByText("The chain is sound")).toBeDefined();
  expect(screen.queryByRole("alert")).toBeNull();
  expect(places()).toEqual(["0", "20", "20"]);
});

it("keeps no verdict of an earlier run", async () => {
  stretches(
    () => json(200, last),
    () => problem(503, "unavailable"),
  );
  await open();
  await press("Verify the chain");
  await screen.findByText("The chain is sound");
  await press("Verify the chain");
  expect(await screen.findByRole("button", { name: "Try again" })).toBeDefined();
  expect(screen.queryByText("The chain is sound")).toBeNull();
  expect(screen.queryByText(/Head signed/)).toBeNull();
});

it("says where the chain is broken, and asks for no head of it", async () => {
  const fault = { seq: 12, kind: "altered", detail: "The entry is not what it was." };
  stretches(() => json(200, { ...part, ok: false, next_after: null, fault }));
  await open();
  await press("Verify the chain");
  expect(await screen.findByText("The chain is broken at 12: altered")).toBeDefined();
  expect(platform.requests.some(({ url }) => url.endsWith("/audit/head"))).toBe(false);
});

it("narrows the entries by a person and a project chosen by name", async () => {
  await open();
  await press("Filters");
  await userEvent.click(screen.getByRole("combobox", { name: "Who" }));
  await userEvent.click(await screen.findByText("Olga Owner (olga@example.org)"));
  await userEvent.click(screen.getByRole("combobox", { name: "Project" }));
  await userEvent.click(await screen.findByText("Speech"));
  expect(new URLSearchParams(window.location.search).get("actor_id")).toBe("user_7");
  expect(new URLSearchParams(window.location.search).get("project_id")).toBe("proj_2");
  expect(screen.getByRole("combobox", { name: "Who" })).toHaveProperty(
    "value",
    "Olga Owner (olga@example.org)",
  );
});

it("takes an id that is in nobody's list", async () => {
  await open();
  await press("Filters");
  await userEvent.type(screen.getByRole("combobox", { name: "Who" }), "sa_9");
  expect(new URLSearchParams(window.location.search).get("actor_id")).toBe("sa_9");
});
