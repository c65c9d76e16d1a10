import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import type { AppInstance } from "../../../src/api/contract.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { forgetNames } from "../../../src/live/names.ts";
import { wholeList } from "../../../src/live/use-list.ts";
import { OverviewTab } from "../../../src/pages/instance/overview-tab.tsx";
import type { InstanceTabProps } from "../../../src/pages/instance/view.ts";
import { drawn } from "../drawn.tsx";
import { fakePlatform, json } from "../fake-platform.ts";
import { INSTANCE, MANIFEST } from "../manifest/scene.ts";

const PROJECT = `proj_0${"3".padStart(25, "0")}`;
const TENANT = `org_0${"4".padStart(25, "0")}`;
const view = {
  instance: { ...INSTANCE, project_id: PROJECT, org_id: TENANT } as AppInstance,
  members: [],
  membersKnown: true,
  manifest: { ...MANIFEST, runbook_url: "https://example.org/runbook" },
  operations: wholeList([]),
  machines: [],
  reading: false,
  onAsk: () => undefined,
} as unknown as InstanceTabProps;

beforeEach(() => {
  forgetReadings();
  forgetNames();
  const items = [
    { id: PROJECT, name: "vision" },
    { id: TENANT, name: "acme" },
  ];
  fakePlatform().on("GET /api/v1/names", () => json(200, { items }));
});

it("calls who pays by their names", async () => {
  await drawn(<OverviewTab {...view} />);
  await screen.findByText("acme");
  const [label] = screen.getAllByText("Paid by");
  expect(label?.closest("dt")?.nextElementSibling?.textContent).toBe("Project vision, tenant acme");
});

it("shows no picture of members that could not be read, and says why", async () => {
  await drawn(<OverviewTab {...view} membersKnown={false} />);
  expect(screen.getByRole("heading", { name: "Topology" })).toBeDefined();
  expect(screen.getByText("It could not be read")).toBeDefined();
  expect(screen.queryByText("There is nothing to show yet.")).toBeNull();
});
