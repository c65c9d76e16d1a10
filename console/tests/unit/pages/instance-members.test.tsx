import { screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import type { Member } from "../../../src/api/contract.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { forgetNames } from "../../../src/live/names.ts";
import { wholeList } from "../../../src/live/use-list.ts";
import { MembersTab } from "../../../src/pages/instance/members-tab.tsx";
import type { InstanceTabProps } from "../../../src/pages/instance/view.ts";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json } from "../fake-platform.ts";
import { INSTANCE, MANIFEST } from "../manifest/scene.ts";

const GIVEN_BACK = `alloc_0${"9".padStart(25, "0")}`;

function member(id: string, status: string, allocation_id: string): Member {
  return {
    id,
    status,
    allocation_id,
    component_key: "hand",
    health: "healthy",
    node: "",
    conditions: [],
    adapter_detail: null,
    last_operation_id: null,
    updated_at: "2026-03-14T09:30:00Z",
  } as unknown as Member;
}

const THERE = member("mem_1", "ready", "alloc_1");
const GONE = member("mem_9", "removed", GIVEN_BACK);

function view(changed: Partial<InstanceTabProps> = {}): InstanceTabProps {
  return {
    instance: INSTANCE,
    members: [THERE],
    membersKnown: true,
    manifest: MANIFEST,
    operations: wholeList([]),
    machines: [{ allocation: { id: "alloc_1", name: "gpu-01" }, sku: null }],
    reading: false,
    onAsk: () => undefined,
    ...changed,
  } as InstanceTabProps;
}

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  forgetNames();
  platform = fakePlatform();
  platform.on("GET /api/v1/app-instances/inst_1/members", () => json(200, { items: [GONE] }));
  platform.on("GET /api/v1/names", () =>
    json(200, { items: [{ id: GIVEN_BACK, name: "gpu-09" }] }),
  );
});

it("reads those that are no more when asked for, and names the machine they were on", async () => {
  await drawn(<MembersTab {...view()} />);
  expect(screen.getByRole("link", { name: "gpu-01" })).toBeDefined();
  expect(platform.requests).toEqual([]);
  await userEvent.click(screen.getByRole("checkbox", { name: "Removed ones too" }));
  expect(await screen.findByRole("link", { name: "gpu-09" })).toBeDefined();
  expect(screen.getByText("Removed")).toBeDefined();
  expect(platform.requests[0]?.url).toContain("status=removed");
});

it("lists one that goes just now once", async () => {
  const members = [THERE, { ...GONE, status: "removing" as const }];
  await drawn(<MembersTab {...view({ members })} />, "/here?removed=1");
  expect(await screen.findByText("Removed")).toBeDefined();
  expect(screen.queryByText("Removing")).toBeNull();
});

it("says of members that could not be read that they could not be", async () => {
  await drawn(<MembersTab {...view({ members: [], membersKnown: false })} />);
  expect(screen.getByText("It could not be read")).toBeDefined();
  expect(screen.queryByText("No member yet")).toBeNull();
});

it("finds a member by the title of its component, as it is shown", async () => {
  const components = [{ key: "hand", title: "Worker" }] as typeof MANIFEST.components;
  const manifest = { ...MANIFEST, components };
  await drawn(<MembersTab {...view({ manifest })} />, "/here?members.q=worker");
  expect(screen.getByRole("rowheader").textContent).toBe("Worker");
});
