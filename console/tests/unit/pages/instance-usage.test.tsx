import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import type { Whoami } from "../../../src/api/contract.ts";
import { session } from "../../../src/app/session.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { UsageTab } from "../../../src/pages/instance/usage-tab.tsx";
import type { InstanceTabProps } from "../../../src/pages/instance/view.ts";
import { drawn } from "../drawn.tsx";
import { fakePlatform, json, person } from "../fake-platform.ts";
import { INSTANCE, MANIFEST } from "../manifest/scene.ts";

const may = {
  scope: { kind: "platform" },
  permissions: ["billing.usage.read"],
  only_here: false,
} as unknown as Whoami["permissions"][number];
const MACHINE = {
  allocation_id: "alloc_1",
  name: "gpu-01",
  sku: "large",
  components: ["board_hand"],
  held_until: null,
  open: true,
  hours: "1",
  gpu_hours: "0",
  price_per_hour: null,
  amount: null,
  currency: null,
};
const USAGE = {
  amounts: [],
  price_per_hour: [],
  running_seconds: 60,
  since: "2026-03-14T09:30:00Z",
  open: true,
  days: [],
  notes: [],
  machines: [MACHINE],
};

beforeEach(() => {
  forgetReadings();
  session.set({ kind: "signed_in", who: { ...person("ada@example.org"), permissions: [may] } });
});

it("calls what a machine carries as the app does, and finds it so", async () => {
  fakePlatform().on("GET /api/v1/app-instances/inst_1/usage", () => json(200, USAGE));
  const components = [{ key: "board_hand", title: "Worker" }] as typeof MANIFEST.components;
  const view = { instance: INSTANCE, manifest: { ...MANIFEST, components } } as InstanceTabProps;
  await drawn(<UsageTab {...view} />, "/here?usage.q=worker");
  expect(await screen.findByText("Worker")).toBeDefined();
  expect(screen.queryByText("Board hand")).toBeNull();
});
