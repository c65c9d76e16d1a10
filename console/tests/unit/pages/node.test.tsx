import { act, render, screen, within } from "@testing-library/react";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { forgetReadings } from "../../../src/live/kept.ts";
import { names } from "../../../src/live/names.ts";
import NodePage from "../../../src/pages/node/index.tsx";
import { type FakePlatform, fakePlatform, json } from "../fake-platform.ts";

const AT = "2026-03-14T09:30:00Z";
const PROJECT = "proj_00000000000000000000000001";
const TENANT = "org_00000000000000000000000002";
const node = {
  id: "node_1",
  name: "gpu-17",
  region: "north",
  sku: "h200-1",
  provider: "enrolled",
  status: "ready",
  status_reason: "",
  address: "192.0.2.7",
  host_keys: ["ssh-ed25519 AAAA"],
  allocation_id: null,
  last_org_id: null,
  revision: 1,
  created_at: AT,
  conditions: [],
};
const agent = {
  node_id: "node_1",
  status: "enrolled",
  agent_version: "1.4.2",
  identities: [{ id: "id_1", fingerprint: "SHA256:abc", created_at: AT, expires_at: AT }],
  last_seen_at: AT,
  boot_id: "b-1",
  enrolled_at: AT,
  access_applied: true,
  access_error: "",
};
const gpu = {
  vendor: "nvidia",
  index: 0,
  name: "NVIDIA H200",
  uuid: "GPU-1",
  bus_id: "0000:01:00.0",
  memory: 150_754_820_096,
  device_file: "/dev/nvidia0",
  numa_node: null,
  mig: "disabled",
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
  answer("", node);
  answer("/agent", agent);
  answer("/access", {
    node_id: "node_1",
    carrier: "agent",
    applied: true,
    confirmed_at: AT,
    error: "",
  });
  facts({ format: 1, gpus: { devices: [], device_files: [] }, unknown: [] });
  cleanings([]);
});

function cleanings(items: readonly unknown[]): void {
  platform.on("GET /api/v1/cleanings", () => json(200, { items, next_cursor: null }));
}

function answer(part: string, body: unknown): void {
  platform.on(`GET /api/v1/nodes/node_1${part}`, () => json(200, body));
}

function facts(said: unknown): void {
  answer("/facts", { node_id: "node_1", reported_at: AT, facts: said });
}

async function open(): Promise<void> {
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <NodePage params={{ node_id: "node_1" }} />
        </Suspense>
      </RouterProvider>,
    ),
  );
  await screen.findByRole("heading", { name: "gpu-17" });
}

/** The value beside a label. */
function beside(label: string, at = 0): string | null | undefined {
  const labels = screen.getAllByRole("term").filter(({ textContent }) => textContent === label);
  return labels[at]?.nextElementSibling?.textContent;
}

it("shows a machine without GPUs as one without", async () => {
  await open();
  expect(await screen.findByText("None was found.")).toBeDefined();
  expect(screen.queryByRole("table")).toBeNull();
  expect(screen.queryByText("What else it says")).toBeNull();
  expect(beside("Trusts what it should")).toBe("Yes");
});

it("shows each GPU in a row, and a field it does not know in a column of its own", async () => {
  facts({
    format: 1,
    gpus: {
      devices: [{ ...gpu, power_cap: 700 }],
      device_files: [],
      driver: "580.1",
      processes: [],
    },
    unknown: [{ fact: "gpus.topology", source: "nvidia-smi", reason: "was not run" }],
    firmware: { version: "2.1" },
  });
  await open();
  const table = await screen.findByRole("table", { name: "GPUs" });
  const row = within(table).getByRole("row", { name: /H200/ });
  for (const text of ["NVIDIA H200", "140 GiB", "/dev/nvidia0", "700"]) {
    expect(within(row).getByText(text)).toBeDefined();
  }
  expect(within(table).getByRole("columnheader", { name: "Power cap" })).toBeDefined();
  expect(screen.getByText("Driver 580.1")).toBeDefined();
  expect(screen.getByText("What could not be read (1)")).toBeDefined();
  expect(screen.getByText("What else it says")).toBeDefined();
  expect(beside("Version", 1)).toBe("2.1");
});

it("shows facts in a form it does not know as they are", async () => {
  facts({ format: 2, gpus: "eight" });
  await open();
  expect(await screen.findByText("eight")).toBeDefined();
  expect(screen.queryByText("Processor")).toBeNull();
});

it("calls an agent that is not heard absent, and what it said last known from then", async () => {
  const condition = {
    type: "agent_absent",
    since: AT,
    reason: "silent",
    message: "The agent has not been heard since then.",
    next_action: "Look whether the machine is on.",
  };
  answer("", { ...node, conditions: [condition] });
  await open();
  expect(screen.getByText("The agent has not been heard since then.")).toBeDefined();
  expect(beside("Status")).toBe("Ready");
  expect(beside("Status", 1)).toBe("EnrolledAgent absent");
  expect(beside("Trusts what it should")).toBe("Yes, when it was last heard");
});

it("claims nothing of an agent that has left", async () => {
  answer("/agent", {
    ...agent,
    status: "left",
    agent_version: "",
    identities: [],
    access_applied: false,
  });
  answer("/access", {
    node_id: "node_1",
    carrier: "nobody",
    applied: false,
    confirmed_at: null,
    error: "",
  });
  await open();
  expect(beside("Status", 1)).toBe("Left");
  expect(beside("Told by")).toBe("Nobody: whoever keeps the host");
  expect(beside("Trusts what it should", 1)).toBe("Not known: it has left");
  expect(beside("Identity")).toBe("None");
});

it("says who holds a machine, by the names of the project and the tenant", async () => {
  const place = { org_id: TENANT, project_id: PROJECT };
  answer("", { ...node, allocation_id: "alloc_1" });
  platform.on("GET /api/v1/allocations/alloc_1", () => json(200, { id: "alloc_1", ...place }));
  names.set(
    new Map([
      [PROJECT, "Vision"],
      [TENANT, "Acme Research"],
    ]),
  );
  await open();
  const project = await screen.findByRole("link", { name: "Vision" });
  expect(project.getAttribute("href")).toBe(`/projects/${PROJECT}/instances`);
  expect(beside("Held by")).toBe("Project Vision, tenant Acme Research");
});

it("says that whose a machine is cannot be read", async () => {
  answer("", { ...node, allocation_id: "alloc_1" });
  await open();
  expect(await screen.findByText("Title of not_found")).toBeDefined();
});

it("names no holder of a free machine", async () => {
  await open();
  expect(beside("Held as")).toBe("Nothing: it is free");
  expect(beside("Held by")).toBeUndefined();
});

it("says which tenant alone gets a machine that was not cleaned", async () => {
  answer("", { ...node, last_org_id: TENANT });
  names.set(new Map([[TENANT, "Acme Research"]]));
  await open();
  expect(await screen.findByRole("link", { name: "Acme Research" })).toBeDefined();
  expect(beside("Given out to")).toBe("Acme Research alone, until it is cleaned");
});

it("shows how far the cleaning of a machine is, and why it was set aside", async () => {
  answer("", { ...node, status: "set_aside", last_org_id: TENANT });
  const step = { name: "enrolment", state: "failed", at: AT, message: "It did not enrol." };
  const cleaning = {
    id: "clean_1",
    org_id: TENANT,
    method: "reimage",
    status: "set_aside",
    status_reason: "The machine did not enrol afresh before the deadline.",
    steps: [step],
    next_actions: ["retry", "confirm", "retire"],
    created_at: AT,
  };
  cleanings([cleaning]);
  await open();
  const table = await screen.findByRole("region", { name: "Steps of the cleaning" });
  for (const text of ["Enrolment", "Failed", "It did not enrol."]) {
    expect(within(table).getByText(text)).toBeDefined();
  }
  expect(beside("Status")).toBe("Set aside");
  expect(screen.getByText(cleaning.status_reason)).toBeDefined();
});
