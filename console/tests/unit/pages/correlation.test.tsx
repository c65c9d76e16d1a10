import { screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import type { Whoami } from "../../../src/api/contract.ts";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import CorrelationPage from "../../../src/pages/correlation/index.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, person } from "../fake-platform.ts";

const AT = "2026-03-14T09:30:00Z";
const abandon = { action: "abandon", operation_id: "op_1", member_id: null, reason: "" };
const diagnosis = {
  correlation_id: "web_1",
  adapter_detail: null,
  instance: {
    id: "inst_1",
    resource_name: "grown",
    status: "failed",
    health: "failed",
    conditions: [],
  },
  member: {
    id: "mem_1",
    component_key: "hand",
    allocation_id: "alloc_1",
    status: "failed",
    health: "failed",
    conditions: [],
  },
  operation: {
    id: "op_1",
    kind: "rest_hand",
    status: "failed",
    attempt: 1,
    max_attempts: 1,
    step: "",
    error: null,
    conditions: [],
    next_actions: [abandon],
  },
};
const may = {
  scope: { kind: "platform" },
  permissions: ["apps.operation.abandon"],
  only_here: false,
} as unknown as Whoami["permissions"][number];

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  session.set({
    kind: "signed_in",
    who: { ...person("ada@example.org"), permissions: [may] },
  });
  platform = fakePlatform();
  const instance = { id: "inst_1", org_id: "org_1", project_id: "proj_1", absence: null };
  platform.on("GET /api/v1/app-instances/inst_1", () => json(200, instance));
});

/** As many pages as asked for, of one entry each. */
function timeline(pages: number, diagnoses: unknown[] = []): void {
  platform.on("GET /api/v1/correlations/web_1", ({ url }) => {
    const page = Number(new URL(url).searchParams.get("cursor") ?? "1");
    const entry = {
      kind: "event",
      id: `page ${page}`,
      at: AT,
      title: `page ${page}`,
      status: "",
      actor: null,
    };
    return json(200, {
      correlation_id: "web_1",
      revision: "1",
      diagnoses,
      trace_ids: [],
      entries: [entry],
      next_cursor: page < pages ? String(page + 1) : null,
    });
  });
}

async function open(): Promise<void> {
  await drawn(<CorrelationPage params={{ correlation_id: "web_1" }} />);
}

it("shows whoever thinks of abandoning what the app has stated of the member", async () => {
  timeline(1, [diagnosis]);
  const absence = { runtime_verified_absent: true, evidence: {}, stated_at: AT, stated_by: "sa_1" };
  platform.on("GET /api/v1/app-members/mem_1", () => json(200, { id: "mem_1", absence }));
  await open();
  await userEvent.click(await screen.findByRole("button", { name: "Abandon" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText("The app states that nothing of it is left")).toBeDefined();
  expect(dialog.queryByText("There is no evidence")).toBeNull();
});

it("says that there is more of a timeline, and reads on", async () => {
  timeline(7);
  await open();
  expect(await screen.findByText("page 5")).toBeDefined();
  expect(screen.queryByText("page 6")).toBeNull();
  expect(screen.getByText("(5+)")).toBeDefined();
  await userEvent.type(screen.getByRole("searchbox", { name: "Find in timeline" }), "page");
  await userEvent.click(screen.getByRole("button", { name: "Read more" }));
  expect(await screen.findByText("page 7")).toBeDefined();
  expect(screen.getByText("(7/7)")).toBeDefined();
});
