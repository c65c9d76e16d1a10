import { act, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Allocation, Whoami } from "../../../src/api/contract.ts";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { BoundMembers, useBoundMembers } from "../../../src/pages/allocation/bound-members.tsx";
import { GrantTable } from "../../../src/pages/allocation/grants.tsx";
import AllocationPage from "../../../src/pages/allocation/index.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, person, problem } from "../fake-platform.ts";

const NOW = Date.parse("2026-03-14T09:30:00Z");
const may = {
  scope: { kind: "platform" },
  permissions: ["custody.grant.read"],
  only_here: false,
} as unknown as Whoami["permissions"][number];

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  session.set({ kind: "signed_in", who: { ...person("ada@example.org"), permissions: [may] } });
  platform = fakePlatform();
});

afterEach(() => {
  vi.useRealTimers();
});

function Bound() {
  return <BoundMembers list={useBoundMembers("inst_1", "alloc_1")} />;
}

it("finds what sits on it however many members its instance has", async () => {
  const one = {
    id: "mem_1",
    instance_id: "inst_1",
    allocation_id: "alloc_1",
    component_key: "hand",
    status: "ready",
    health: "healthy",
    conditions: [],
  };
  platform.on("GET /api/v1/app-instances/inst_1/members", ({ url }) =>
    json(
      200,
      url.includes("cursor=")
        ? { items: [one], next_cursor: null }
        : { items: [{ ...one, id: "mem_2", allocation_id: "alloc_2" }], next_cursor: "second" },
    ),
  );
  await drawn(<Bound />);
  expect(await screen.findByRole("link", { name: "Hand" })).toBeDefined();
  expect(screen.getAllByRole("rowheader")).toHaveLength(1);
});

it("does not say that nothing sits on it where that could not be read", async () => {
  platform.on("GET /api/v1/app-instances/inst_1/members", () => problem(500, "internal"));
  await drawn(<Bound />);
  expect(await screen.findByText("It could not be read")).toBeDefined();
  expect(screen.queryByText("Nothing sits on it")).toBeNull();
});

it("shows that the machine's agent was taken away, and what to do", async () => {
  const allocation = {
    id: "alloc_1",
    name: "mine",
    org_id: "org_1",
    project_id: "proj_1",
    sku: "small",
    region: "north",
    status: "active",
    status_reason: "",
    address: null,
    host_keys: [],
    bound_instance_id: null,
    created_at: new Date(NOW).toISOString(),
    conditions: [
      {
        type: "agent_left",
        since: new Date(NOW).toISOString(),
        reason: "left",
        message: "The machine's own root took its agent away by force.",
        next_action: "Enrol the machine again, or release the allocation.",
      },
    ],
  };
  platform.on("GET /api/v1/allocations/alloc_1", () => json(200, allocation));
  await drawn(<AllocationPage params={{ allocation_id: "alloc_1" }} />);
  expect(await screen.findAllByText("Agent left")).toHaveLength(2); // the alert, and the status
  expect(screen.getByText(/took its agent away by force/)).toBeDefined();
  expect(screen.getByText(/Enrol the machine again/)).toBeDefined();
});

it("calls a certificate expired once it is, with nothing read anew", async () => {
  vi.useFakeTimers({ now: NOW });
  const grant = {
    id: "grant_1",
    created_by: "somebody",
    fingerprint: "SHA256:abc",
    revoked_at: null,
    valid_before: new Date(NOW + 5_000).toISOString(),
  };
  platform.on("GET /api/v1/access-grants", () => json(200, { items: [grant] }));
  const allocation = { id: "alloc_1", org_id: "org_1", project_id: "proj_1", status: "active" };
  await drawn(<GrantTable allocation={allocation as Allocation} />);
  await act(() => vi.advanceTimersByTimeAsync(1_000));
  expect(screen.getByText("Active")).toBeDefined();
  expect(screen.getByRole("button", { name: "End now" })).toBeDefined();
  const asked = platform.requests.length;
  await act(() => vi.advanceTimersByTimeAsync(6_000));
  expect(screen.getByText("Expired")).toBeDefined();
  expect(screen.queryByRole("button", { name: "End now" })).toBeNull();
  expect(platform.requests).toHaveLength(asked);
});
