import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { forgetReadings } from "../../../src/live/kept.ts";
import { forgetNames } from "../../../src/live/names.ts";
import OperationPage from "../../../src/pages/operation/index.tsx";
import { drawn } from "../drawn.tsx";
import { type FakePlatform, fakePlatform, json, problem } from "../fake-platform.ts";

const INSTANCE = `inst_0${"1".padStart(25, "0")}`;
const MEMBER = `mem_0${"2".padStart(25, "0")}`;
const AT = "2026-03-14T09:30:00Z";
const operation = {
  id: "op_1",
  org_id: "org_1",
  project_id: "proj_1",
  instance_id: INSTANCE,
  member_id: MEMBER,
  kind: "rest_hand",
  status: "succeeded",
  attempt: 1,
  max_attempts: 3,
  progress: [],
  conditions: [],
  next_actions: [],
  input: {},
  error: null,
  lease: null,
  group_id: null,
  waits_for: null,
  target_version: null,
  requested_by: "somebody",
  requested_at: AT,
  ended_at: AT,
  correlation_id: "web_1",
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  forgetNames();
  platform = fakePlatform();
  const items = [
    { id: INSTANCE, name: "grown" },
    { id: MEMBER, name: "hand on gpu-01" },
  ];
  platform.on("GET /api/v1/names", () => json(200, { items }));
  platform.on("GET /api/v1/operations/op_1", () => json(200, operation));
  platform.on("GET /api/v1/correlations/web_1", () => json(200, { diagnoses: [], entries: [] }));
});

function beside(label: string): string | null | undefined {
  const labels = screen.getAllByRole("term").filter(({ textContent }) => textContent === label);
  return labels[0]?.nextElementSibling?.textContent;
}

async function open(): Promise<void> {
  await drawn(<OperationPage params={{ operation_id: "op_1" }} />);
  await screen.findByRole("heading", { name: "Rest hand" });
}

it("tells which instance and member it is about though neither could be read", async () => {
  platform.on(`GET /api/v1/app-instances/${INSTANCE}`, () => problem(500, "internal"));
  platform.on(`GET /api/v1/app-members/${MEMBER}`, () => problem(500, "internal"));
  await open();
  const link = await screen.findByRole("link", { name: "grown" });
  expect(link.getAttribute("href")).toBe(`/instances/${INSTANCE}`);
  expect(beside("Member")).toBe("hand on gpu-01Not read yet");
  expect(beside("What the app says")).toBe("Not read yet");
  expect((await screen.findByRole("alert")).textContent).toContain("internal");
});

it("is about the instance as a whole only where it names no member", async () => {
  platform.on("GET /api/v1/operations/op_1", () => json(200, { ...operation, member_id: null }));
  await open();
  expect(beside("Member")).toBe("The instance as a whole");
});
