/** What an agent says of its machine, in the words people use. Pure; shown by facts-panel.tsx.
 *
 * What the agent could not read is null, and stays not known here. What it says beyond the fields
 * named here is never dropped: `restOf` hands it on. */

import { isJsonObject, type Json, type JsonObject } from "../../api/contract.ts";
import { exact } from "../../widgets/times.ts";
import { bytes, count } from "../../widgets/words.ts";

/** A label and its lines; none where nothing is known. */
export interface Told {
  readonly label: string;
  readonly lines: readonly string[];
}

/** The form of facts this page was written for. Another one may mean other things by the same words. */
const FORMAT = 1;

/** What is shown of each section; what is said twice is shown once. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  system: [
    ...["os_id", "os_like", "os_version", "os_codename", "os_name", "kernel", "architecture"],
    ...["hypervisor", "container", "hostname", "fqdn", "boot_id"],
  ],
  cpu: ["model", "vendor", "sockets", "cores", "threads", "threads_usable", "numa_nodes"],
  memory: ["total", "available", "swap_total", "huge_pages", "huge_page_size"],
  storage: ["disks", "filesystems"],
  cgroups: ["version", "controllers", "writable"],
  network: ["interfaces", "default_interface", "default_gateway"],
  gpus: ["devices", "device_files", "driver", "topology", "processes"],
  activity: ["listeners", "services"],
  time: ["now", "epoch", "synchronised", "max_error_seconds", "offset_seconds", "timezone"],
};

export function isKnownForm(facts: unknown): facts is JsonObject {
  return isJsonObject(facts) && facts.format === FORMAT;
}

export function sectionOf(facts: JsonObject, name: string): JsonObject {
  const found = facts[name];
  return isJsonObject(found) ? found : {};
}

/** The things of a list; null where it could not be read. */
export function rowsOf(list: Json | undefined): readonly JsonObject[] | null {
  return Array.isArray(list) ? list.filter(isJsonObject) : null;
}

export function summaryOf(facts: JsonObject): readonly Told[] {
  const system = sectionOf(facts, "system");
  const cpu = sectionOf(facts, "cpu");
  return [
    { label: "Processor", lines: processor(cpu) },
    { label: "Memory", lines: memory(sectionOf(facts, "memory")) },
    { label: "System", lines: operatingSystem(system) },
    { label: "Runs inside", lines: around(system) },
    { label: "Host name", lines: words(system.fqdn ?? system.hostname) },
    { label: "Default route", lines: route(sectionOf(facts, "network")) },
    { label: "Clock", lines: clock(sectionOf(facts, "time")) },
    { label: "Control groups", lines: controlGroups(sectionOf(facts, "cgroups")) },
    { label: "NUMA nodes", lines: (rowsOf(cpu.numa_nodes) ?? []).map(numaNode) },
    { label: "Boot id", lines: words(system.boot_id) },
  ];
}

/** What has no place of its own on the page. */
export function restOf(facts: JsonObject): JsonObject {
  const rest: Record<string, Json> = {};
  for (const [name, section] of Object.entries(facts)) {
    if (name === "format" || name === "unknown") continue;
    const left = isJsonObject(section) ? without(section, SHOWN[name] ?? []) : section;
    if (!isJsonObject(left) || Object.keys(left).length > 0) rest[name] = left;
  }
  return rest;
}

/** What stands in place of a table of GPUs: none is not the same as not known. */
export function withoutGpus(facts: JsonObject): string {
  const { devices, device_files: files } = sectionOf(facts, "gpus");
  const signs = Array.isArray(files) ? files.join(", ") : "";
  if (Array.isArray(devices)) {
    return signs === "" ? "None was found." : `None is listed, though there is ${signs}.`;
  }
  const why = (rowsOf(facts.unknown) ?? []).find(({ fact }) => fact === "gpus.devices");
  const reason = why === undefined ? "" : `: ${String(why.reason)}`;
  return `Not known: they could not be read${reason}.${signs === "" ? "" : ` There is ${signs}.`}`;
}

/** How GPUs and network cards reach each other: a row for each, with what lies between it and others. */
export function linksOf(topology: Json | undefined): readonly JsonObject[] {
  if (!isJsonObject(topology)) return [];
  const links = sectionOf(topology, "links");
  const devices = new Set(
    Object.values(links).flatMap((to) => Object.keys(isJsonObject(to) ? to : {})),
  );
  const ends = [...devices].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  return Object.keys(links).map((device) => {
    const reached = sectionOf(links, device);
    return {
      device,
      cpu_affinity: sectionOf(topology, "cpu_affinity")[device] ?? null,
      numa_affinity: sectionOf(topology, "numa_affinity")[device] ?? null,
      ...Object.fromEntries(ends.map((end) => [end, reached[end] ?? null])),
    };
  });
}

export function size(value: Json): string | null {
  return typeof value === "number" ? bytes(value) : null;
}

/** "400 Gbit/s", "100 Mbit/s". */
export function speed(value: Json): string | null {
  if (typeof value !== "number") return null;
  return value < 1000 ? `${value} Mbit/s` : `${value / 1000} Gbit/s`;
}

/** "0–3, 8": numbers that follow each other as one. */
export function ranges(numbers: readonly number[]): string {
  const found: [number, number][] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last !== undefined && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}

function processor({ model, vendor, threads_usable: usable, ...cpu }: JsonObject): string[] {
  const parts = [counted(cpu.sockets, "socket"), counted(cpu.cores, "core")];
  const counts = [...parts, counted(cpu.threads, "thread")].filter((part) => part !== null);
  const limited = usable !== cpu.threads && typeof usable === "number";
  return [
    ...words(model ?? vendor),
    ...(counts.length > 0 ? [counts.join(", ")] : []),
    ...(limited ? [`The agent may use ${count(usable, "thread")}`] : []),
  ];
}

function memory({ total, available, swap_total: swap, ...pages }: JsonObject): string[] {
  const { huge_pages: huge, huge_page_size: each } = pages;
  const lines: string[] = [];
  if (typeof total === "number") lines.push(bytes(total));
  if (typeof available === "number") lines.push(`${bytes(available)} available`);
  if (typeof swap === "number") lines.push(swap === 0 ? "No swap" : `${bytes(swap)} of swap`);
  if (typeof huge === "number" && huge > 0) {
    const of = typeof each === "number" ? ` of ${bytes(each)}` : "";
    lines.push(`${count(huge, "huge page")}${of}`);
  }
  return lines;
}

function operatingSystem({ os_name, os_id, kernel, architecture }: JsonObject): string[] {
  const build = [...words(kernel), ...words(architecture)].join(", ");
  return [...words(os_name ?? os_id), ...(build === "" ? [] : [`Kernel ${build}`])];
}

function around({ container, hypervisor }: JsonObject): string[] {
  if (container === "none" && hypervisor === "none") return ["Nothing: it is the hardware itself"];
  return [...inside("A container", container), ...inside("A virtual machine", hypervisor)];
}

function inside(what: string, kind: Json | undefined): string[] {
  if (typeof kind !== "string") return [`${what}: not known`];
  return kind === "none" ? [] : [`${what}: ${kind}`];
}

function route({ default_gateway: gateway, default_interface: by }: JsonObject): string[] {
  if (typeof gateway !== "string") return [];
  return [typeof by === "string" ? `${gateway} by ${by}` : gateway];
}

function clock(time: JsonObject): string[] {
  const { now, synchronised, max_error_seconds: error, offset_seconds: offset } = time;
  const lines: string[] = [];
  if (typeof now === "string") lines.push([exact(now), ...words(time.timezone)].join(", "));
  if (synchronised === true) lines.push(`Kept in time${within(error)}`);
  if (synchronised === false) lines.push("Nothing keeps it in time");
  if (typeof offset === "number") lines.push(`${seconds(offset)} from the platform's`);
  return lines;
}

function within(error: Json | undefined): string {
  return typeof error === "number" ? `, within ${seconds(error)}` : "";
}

function seconds(value: number): string {
  return `${Number(Math.abs(value).toPrecision(2))} s`;
}

function controlGroups({ version, controllers, writable }: JsonObject): string[] {
  if (typeof version !== "string") return [];
  if (version === "none") return ["None"];
  const lines = [version];
  if (Array.isArray(controllers)) lines.push(controllers.join(", "));
  if (writable === false) lines.push("For reading only");
  return lines;
}

function numaNode({ id, threads }: JsonObject): string {
  const numbers = Array.isArray(threads) ? threads.filter((one) => typeof one === "number") : [];
  return `${String(id)}: threads ${ranges(numbers)}`;
}

function counted(value: Json | undefined, one: string): string | null {
  return typeof value === "number" ? count(value, one) : null;
}

function words(value: Json | undefined): string[] {
  return typeof value === "string" && value !== "" ? [value] : [];
}

function without(section: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(section).filter(([name]) => !names.includes(name)));
}
