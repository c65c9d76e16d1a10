import { expect, it } from "vitest";
import type { JsonObject } from "../../../src/api/contract.ts";
import {
  isKnownForm,
  linksOf,
  ranges,
  restOf,
  speed,
  summaryOf,
  withoutGpus,
} from "../../../src/pages/node/facts.ts";

function told(facts: JsonObject): Record<string, readonly string[]> {
  return Object.fromEntries(summaryOf(facts).map(({ label, lines }) => [label, lines]));
}

it("says what a machine is in the words and units people use", () => {
  const facts = {
    system: {
      os_name: "Ubuntu 24.04.3 LTS",
      os_id: "ubuntu",
      kernel: "6.8.0",
      architecture: "x86_64",
      hypervisor: "none",
      container: "none",
      hostname: "gpu-17",
      fqdn: "gpu-17.example.org",
      boot_id: "b-1",
    },
    cpu: {
      model: "AMD EPYC 9654",
      vendor: "AuthenticAMD",
      sockets: 2,
      cores: 192,
      threads: 384,
      threads_usable: 384,
      numa_nodes: [
        { id: 0, threads: [0, 1, 2, 3, 192] },
        { id: 1, threads: [4] },
      ],
    },
    memory: {
      total: 2_164_663_517_184,
      available: 2_061_584_302_080,
      swap_total: 0,
      huge_pages: 64,
      huge_page_size: 2_097_152,
    },
    network: { default_interface: "eth0", default_gateway: "192.0.2.1" },
    cgroups: { version: "v2", controllers: ["cpu", "memory"], writable: true },
    time: { synchronised: true, max_error_seconds: 0.0213, offset_seconds: -0.0034 },
  };
  expect(told(facts)).toEqual({
    Processor: ["AMD EPYC 9654", "2 sockets, 192 cores, 384 threads"],
    Memory: ["2 TiB", "1.9 TiB available", "No swap", "64 huge pages of 2 MiB"],
    System: ["Ubuntu 24.04.3 LTS", "Kernel 6.8.0, x86_64"],
    "Runs inside": ["Nothing: it is the hardware itself"],
    "Host name": ["gpu-17.example.org"],
    "Default route": ["192.0.2.1 by eth0"],
    Clock: ["Kept in time, within 0.021 s", "0.0034 s from the platform's"],
    "Control groups": ["v2", "cpu, memory"],
    "NUMA nodes": ["0: threads 0–3, 192", "1: threads 4"],
    "Boot id": ["b-1"],
  });
});

it("leaves open what the agent could not read, and guesses nothing", () => {
  const facts = {
    system: { os_name: null, hypervisor: null, container: "none", hostname: "vm", fqdn: null },
    cpu: { model: null, sockets: null, cores: 4, threads: 8, threads_usable: 2 },
    memory: { total: null },
    cgroups: { version: "hybrid", controllers: null, writable: false },
    time: { synchronised: null, offset_seconds: null },
  };
  expect(told(facts)).toMatchObject({
    Processor: ["4 cores, 8 threads", "The agent may use 2 threads"],
    Memory: [],
    System: [],
    "Runs inside": ["A virtual machine: not known"],
    "Host name": ["vm"],
    "Default route": [],
    Clock: [],
    "Control groups": ["hybrid", "For reading only"],
    "NUMA nodes": [],
  });
});

it("tells no GPU from GPUs that could not be read", () => {
  expect(withoutGpus({ gpus: { devices: [], device_files: [] } })).toBe("None was found.");
  expect(withoutGpus({ gpus: { devices: [], device_files: ["/dev/nvidia0"] } })).toBe(
    "None is listed, though there is /dev/nvidia0.",
  );
  const unknown = [{ fact: "gpus.devices", source: "nvidia-smi", reason: "exit code 9" }];
  expect(withoutGpus({ gpus: { devices: null, device_files: ["/dev/nvidia0"] }, unknown })).toBe(
    "Not known: they could not be read: exit code 9. There is /dev/nvidia0.",
  );
  expect(withoutGpus({})).toBe("Not known: they could not be read.");
});

it("hands on what it has no place for", () => {
  const facts = {
    format: 1,
    cpu: { model: "AMD EPYC", microcode: "0xa10113e" },
    memory: { total: 1 },
    firmware: { version: "2.1" },
    note: "new",
    unknown: [],
  };
  expect(restOf(facts)).toEqual({
    cpu: { microcode: "0xa10113e" },
    firmware: { version: "2.1" },
    note: "new",
  });
});

it("reads no other form of facts as if it were this one", () => {
  expect(isKnownForm({ format: 1 })).toBe(true);
  for (const other of [{ format: 2 }, {}, null, "facts", [1]]) {
    expect(isKnownForm(other)).toBe(false);
  }
});

it("says how GPUs reach each other, a row for each", () => {
  const topology = {
    links: { GPU0: { GPU1: "NV18", NIC0: "PIX" }, GPU1: { GPU0: "NV18", NIC0: "SYS" } },
    cpu_affinity: { GPU0: "0-95" },
    numa_affinity: { GPU0: "0" },
  };
  const rows = linksOf(topology);
  expect(rows).toEqual([
    {
      ...{ device: "GPU0", cpu_affinity: "0-95", numa_affinity: "0" },
      ...{ GPU0: null, GPU1: "NV18", NIC0: "PIX" },
    },
    {
      ...{ device: "GPU1", cpu_affinity: null, numa_affinity: null },
      ...{ GPU0: "NV18", GPU1: null, NIC0: "SYS" },
    },
  ]);
  expect(Object.keys(rows[0] ?? {}).slice(3)).toEqual(["GPU0", "GPU1", "NIC0"]);
  expect(linksOf(null)).toEqual([]);
});

it("writes speeds and numbers short", () => {
  expect([speed(100), speed(2500), speed(400_000), speed(null)]).toEqual([
    "100 Mbit/s",
    "2.5 Gbit/s",
    "400 Gbit/s",
    null,
  ]);
  expect(ranges([])).toBe("");
  expect(ranges([0, 1, 2, 5, 7, 8])).toBe("0–2, 5, 7–8");
});
