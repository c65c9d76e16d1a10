/** The allocations of a project with their kinds; and as offers, each with the reason why it cannot be
 * chosen, where there is one: what people are not offered they are told about. Used by the allocation
 * picker, the review of a deploy, the page of an instance and that of operations asked for together. */

import { api, call } from "../api/client.ts";
import type { Allocation, AppInstance, Place, Schemas, Sku } from "../api/contract.ts";
import { EVERY_PAGE, pageQuery, readPages } from "../api/pages.ts";
import { Problem } from "../api/problem.ts";
import { HELD } from "../api/states.ts";
import { type Live, type LiveArguments, useLive } from "../live/use-live.ts";

export interface Machine {
  readonly allocation: Allocation;
  readonly sku: Sku | null;
}

export interface Offer extends Machine {
  /** Why it is not offered; null when it is. */
  readonly why: string | null;
  /** The other instance, where that is why. */
  readonly usedBy: string | null;
}

type Dimension = Schemas["Dimension"];

export function useOffers(place: Place, instance?: AppInstance): Live<readonly Offer[]> {
  const { project_id: projectId } = place;
  return useLive(
    projectId === null ? null : `offers:${projectId}:${instance?.id ?? ""}`,
    (signal) => readOffers(projectId ?? "", instance ?? null, signal),
    { on: ({ type }) => type.startsWith("capacity.") || type.startsWith("apps.instance") },
  );
}

/** What the project holds: what it is called and what kind it is, without asking what policy thinks. */
export function useMachines(place: Place, later = false): Live<readonly Machine[]> {
  return useLive(...machinesOf(place, later));
}

export function machinesOf(
  { project_id: projectId }: Place,
  later = false,
): LiveArguments<readonly Machine[]> {
  return [
    projectId === null ? null : `machines:${projectId}`,
    (signal) => readMachines(projectId ?? "", signal),
    { on: ({ type }) => type.startsWith("capacity."), later },
  ];
}

/** What people call the machine of an allocation; its id where nobody may read the name. */
export function machineName(machines: readonly Machine[], allocationId: string): string {
  return (
    machines.find(({ allocation }) => allocation.id === allocationId)?.allocation.name ??
    allocationId
  );
}

async function readOffers(
  projectId: string,
  instance: AppInstance | null,
  signal: AbortSignal,
): Promise<readonly Offer[]> {
  const machines = await readMachines(projectId, signal);
  const denied = await readDenials(
    projectId,
    machines.map(({ allocation }) => allocation),
    signal,
  );
  return machines
    .map(({ allocation, sku }) => ({
      allocation,
      sku,
      why: reason(allocation, instance) ?? denials(denied, allocation),
      usedBy: otherUser(allocation, instance),
    }))
    .sort(byOffer);
}

async function readMachines(projectId: string, signal: AbortSignal): Promise<readonly Machine[]> {
  const [allocations, skus] = await Promise.all([
    readAllocations(projectId, signal),
    readSkus(signal),
  ]);
  return allocations.map((allocation) => ({
    allocation,
    sku: skus.find(({ name }) => name === allocation.sku) ?? null,
  }));
}

/** Those that can be chosen first, each part by name. */
function byOffer(one: Offer, other: Offer): number {
  const offered = Number(one.why !== null) - Number(other.why !== null);
  const { name } = one.allocation;
  return offered || name.localeCompare(other.allocation.name, undefined, { numeric: true });
}

/** Those that were not given back. */
async function readAllocations(
  projectId: string,
  signal: AbortSignal,
): Promise<readonly Allocation[]> {
  const read = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/allocations", {
          params: { query: { project_id: projectId, status: HELD, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    EVERY_PAGE,
    signal,
  );
  return read.items;
}

export async function readSkus(signal: AbortSignal): Promise<readonly Sku[]> {
  const read = await readPages(
    (cursor) => call(api.GET("/api/v1/skus", { params: { query: pageQuery(cursor) }, signal })),
    EVERY_PAGE,
    signal,
  );
  return read.items;
}

function reason(allocation: Allocation, instance: AppInstance | null): string | null {
  const { status, status_reason, bound_instance_id } = allocation;
  if (status !== "active") {
    return `It is ${status.replaceAll("_", " ")}${status_reason ? `: ${status_reason}` : ""}.`;
  }
  if (bound_instance_id === null) return null;
  return otherUser(allocation, instance) === null
    ? "It already carries a member of this instance."
    : "Another instance uses it.";
}

function otherUser(allocation: Allocation, instance: AppInstance | null): string | null {
  const { status, bound_instance_id } = allocation;
  return status !== "active" || bound_instance_id === instance?.id ? null : bound_instance_id;
}

type Denials = ReadonlyMap<string, string>;

/** What policy forbids here, by kind and by region. Policy that cannot be read is left to the platform. */
async function readDenials(
  projectId: string,
  allocations: readonly Allocation[],
  signal: AbortSignal,
): Promise<Denials> {
  const questions = [
    ...[...new Set(allocations.map(({ sku }) => sku))].map((value) => ["skus", value] as const),
    ...[...new Set(allocations.map(({ region }) => region))].map(
      (value) => ["regions", value] as const,
    ),
  ];
  const denied = new Map<string, string>();
  await Promise.all(
    questions.map(async ([dimension, value]) => {
      const message = await denial(projectId, { dimension, value }, signal);
      if (message !== null) denied.set(`${dimension}:${value}`, message);
    }),
  );
  return denied;
}

async function denial(
  projectId: string,
  question: { dimension: Dimension; value: string },
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const { decision } = await call(
      api.GET("/api/v1/projects/{project_id}/effective-policy", {
        params: { path: { project_id: projectId }, query: question },
        signal,
      }),
    );
    return decision && !decision.allowed ? `Policy forbids it: ${decision.message}` : null;
  } catch (thrown) {
    if (!(thrown instanceof Problem)) throw thrown;
    return null;
  }
}

function denials(denied: Denials, { sku, region }: Allocation): string | null {
  return denied.get(`skus:${sku}`) ?? denied.get(`regions:${region}`) ?? null;
}
