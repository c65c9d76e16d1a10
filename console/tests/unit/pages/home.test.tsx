import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import HomePage from "../../../src/pages/home/index.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const PROJECT = { id: "proj_1", name: "vision", display_name: "Vision", active: true };
const AT = "2026-03-14T09:30:00Z";
const INSTANCE = {
  id: "inst_1",
  resource_name: "grown",
  display_name: "",
  status: "running",
  health: "degraded",
  app_slug: "web",
  app_version: "1.0.0",
  topology: "many",
  adapter_detail: null,
  conditions: [],
  created_at: AT,
  updated_at: AT,
  last_operation_id: "op_2",
};
const FAILED = {
  id: "op_1",
  instance_id: "inst_1",
  member_id: "mem_9",
  kind: "add_hand",
  status: "failed",
  error: { code: "taken", message: "It is taken" },
  requested_at: AT,
  ended_at: AT,
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  session.set({ kind: "signed_in", who: person("ada@example.org") });
  platform = fakePlatform();
  answer("projects", [PROJECT]);
  for (const part of ["app-instances", "operations"]) answer(`projects/proj_1/${part}`, []);
  answer("allocations", []);
});

function answer(path: string, items: unknown[]): void {
  platform.on(`GET /api/v1/${path}`, () => json(200, { items }));
}

it("says what to begin with where nothing runs and nothing is wrong", async () => {
  await drawn(<HomePage />);
  expect(await screen.findByText("Nothing needs attention")).toBeDefined();
  expect(screen.getByText("Begin here")).toBeDefined();
});

it("says neither of what could not be read", async () => {
  platform.on("GET /api/v1/projects/proj_1/app-instances", () => problem(500, "internal"));
  await drawn(<HomePage />);
  expect(await screen.findByText("It could not be read")).toBeDefined();
  expect(screen.getAllByRole("alert")).toHaveLength(1);
  expect(screen.queryByText("Nothing needs attention")).toBeNull();
  expect(screen.queryByText("Begin here")).toBeNull();
});

it("calls nobody without a project whose projects could not be read", async () => {
  platform.on("GET /api/v1/projects", () => problem(500, "internal"));
  await drawn(<HomePage />);
  expect((await screen.findByRole("alert")).textContent).toContain("internal");
  expect(screen.queryByText("You are in no project yet")).toBeNull();
});

it("finds the member that a failure is about among those that are not well, however many there are", async () => {
  answer("projects/proj_1/app-instances", [INSTANCE]);
  platform.on("GET /api/v1/projects/proj_1/operations", ({ url }) =>
    json(200, { items: url.includes("status=failed") ? [FAILED] : [] }),
  );
  platform.on("GET /api/v1/app-instances/inst_1/members", ({ url }) => {
    const { searchParams: query } = new URL(url);
    expect(query.getAll("status")).toContain("failed");
    const last = { id: "mem_9", status: "failed", last_operation_id: "op_1" };
    if (query.has("cursor")) return json(200, { items: [last], next_cursor: null });
    return json(200, { items: [], next_cursor: "second" });
  });
  await drawn(<HomePage />);
  expect(await screen.findByRole("link", { name: "Add hand of grown" })).toBeDefined();
});
