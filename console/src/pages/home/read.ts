/** What needs attention in a project, gathered from its instances, operations and allocations. */

import { api, call } from "../../api/client.ts";
import type { Allocation, AppInstance, Member, Operation } from "../../api/contract.ts";
import { pageQuery, readPages } from "../../api/pages.ts";
import { HELD, LIVING, UNDER_WAY } from "../../api/states.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { failureText } from "../../widgets/failure-text.ts";
import { explained, failuresStanding, TROUBLED } from "../../widgets/standing.ts";
import { sentence } from "../../widgets/words.ts";

export interface Need {
  readonly key: string;
  readonly name: string;
  readonly href: string;
  readonly status: string;
  readonly why: string;
  readonly since: string;
}

interface Found {
  readonly needs: readonly Need[];
  readonly open: readonly Operation[];
  /** All that run here or should. */
  readonly instances: readonly AppInstance[];
}

const MOST_PAGES = 10;
/** The states of a member that nobody leaves as they are. */
const UNWELL: Member["status"][] = ["degraded", "failed", "cleanup_blocked"];

export function useAttention(projectId: string): Live<Found> {
  return useLive(`attention:${projectId}`, (signal) => readAttention(projectId, signal), {
    on: ({ type }) => type.startsWith("apps.") || type.startsWith("capacity."),
  });
}

async function readAttention(projectId: string, signal: AbortSignal): Promise<Found> {
  const [instances, failed, open, allocations] = await Promise.all([
    readInstances(projectId, signal),
    // The newest: of an older failure that still stands its instance tells by a condition.
    readOperations({ projectId, status: ["failed"], pages: 1 }, signal),
    readOperations({ projectId, status: UNDER_WAY, pages: MOST_PAGES }, signal),
    readAllocations(projectId, signal),
  ]);
  const live = new Map(instances.map((one) => [one.id, one]));
  const stands = failed.filter(({ instance_id }) => live.has(instance_id));
  const members = await readMembersOf(stands, signal);
  const standing = failuresStanding(stands, instances, members);
  return {
    needs: [
      ...instances
        .filter((instance) => troubled(instance) && !explained(instance, standing))
        .map(instanceNeed),
      ...standing.map((operation) => operationNeed(operation, live.get(operation.instance_id))),
      ...allocations.map(allocationNeed),
    ],
    open,
    instances,
  };
}

/** All that are there, however many are gone. */
async function readInstances(
  projectId: string,
  signal: AbortSignal,
): Promise<readonly AppInstance[]> {
  const path = { project_id: projectId };
  const read = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/projects/{project_id}/app-instances", {
          params: { path, query: { status: LIVING, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    MOST_PAGES,
    signal,
  );
  return read.items;
}

interface WantedOperations {
  readonly projectId: string;
  readonly status: Operation["status"][];
  readonly pages: number;
}

async function readOperations(
  { projectId, status, pages }: WantedOperations,
  signal: AbortSignal,
): Promise<readonly Operation[]> {
  const path = { project_id: projectId };
  const read = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/projects/{project_id}/operations", {
          params: { path, query: { status, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    pages,
    signal,
  );
  return read.items;
}

/** Those that are not well. */
async function readAllocations(
  projectId: string,
  signal: AbortSignal,
): Promise<readonly Allocation[]> {
  const status = HELD.filter((word) => TROUBLED.has(word));
  const read = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/allocations", {
          params: { query: { project_id: projectId, status, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    MOST_PAGES,
    signal,
  );
  return read.items;
}

/** The members that are not well, of those instances alone in which an operation on a member failed. */
async function readMembersOf(
  failed: readonly Operation[],
  signal: AbortSignal,
): Promise<readonly Member[]> {
  const about = failed.filter(({ member_id }) => member_id !== null);
  const read = await Promise.all(
    [...new Set(about.map(({ instance_id }) => instance_id))].map((id) => readUnwell(id, signal)),
  );
  return read.flat();
}

async function readUnwell(instanceId: string, signal: AbortSignal): Promise<readonly Member[]> {
  const path = { instance_id: instanceId };
  const read = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}/members", {
          params: { path, query: { status: UNWELL, ...pageQuery(cursor) } },
          signal,
        }),
      ),
    MOST_PAGES,
    signal,
  );
  return read.items;
}

function troubled({ status, health, conditions }: AppInstance): boolean {
  return TROUBLED.has(status) || TROUBLED.has(health) || conditions.length > 0;
}

function instanceNeed(instance: AppInstance): Need {
  const { id, status, health, conditions, adapter_detail } = instance;
  const said = conditions.map(({ message, reason, type }) => message || reason || sentence(type));
  return {
    key: id,
    name: nameOf(instance),
    href: `/instances/${id}`,
    status: [status, health].find((word) => TROUBLED.has(word)) ?? conditions[0]?.type ?? health,
    why: said.join(" ") || adapter_detail?.summary || "",
    since: conditions[0]?.since ?? instance.updated_at,
  };
}

function nameOf({ resource_name, display_name }: AppInstance): string {
  return display_name || resource_name;
}

function operationNeed(operation: Operation, instance: AppInstance | undefined): Need {
  const { id, kind, error, ended_at, requested_at } = operation;
  return {
    key: id,
    name: `${sentence(kind)}${instance === undefined ? "" : ` of ${nameOf(instance)}`}`,
    href: `/operations/${id}`,
    status: "failed",
    why: error === null ? "" : failureText(error),
    since: ended_at ?? requested_at,
  };
}

function allocationNeed({ id, name, status, status_reason, created_at }: Allocation): Need {
  return {
    key: id,
    name,
    href: `/allocations/${id}`,
    status,
    why: status_reason,
    since: created_at,
  };
}
