import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import type { AppInstance } from "../../../src/api/contract.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { VersionChoice } from "../../../src/pages/instance/version-choice.tsx";
import { drawn } from "../drawn.tsx";
import { fakePlatform, json, problem } from "../fake-platform.ts";

const INSTANCE = { project_id: "proj_1", app_slug: "web", app_version: "1.0.0" } as AppInstance;
const choice = (
  <VersionChoice instance={INSTANCE} version={null} onChange={() => undefined} showAll={false} />
);

beforeEach(forgetReadings);

it("says that there is no other version only where that was read", async () => {
  const platform = fakePlatform();
  platform.on("GET /api/v1/projects/proj_1/apps/web", () => problem(500, "internal"));
  await drawn(choice);
  expect(await screen.findByText("The versions could not be read.")).toBeDefined();
  expect(screen.queryByText("There is no other version.")).toBeNull();
});

it("says so where it was", async () => {
  const versions = [{ version: "1.0.0", status: "published", available: true, reasons: [] }];
  fakePlatform().on("GET /api/v1/projects/proj_1/apps/web", () => json(200, { versions }));
  await drawn(choice);
  expect(await screen.findByText("There is no other version.")).toBeDefined();
});
