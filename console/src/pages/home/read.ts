/** What needs attention in a project, gathered from its instances, operations and allocations. */

import { api, call } from "../../api/client.ts";
import type { Allocation, AppInstance, Member, Operation } from "../../api/contract.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { failureText } from "../../widgets/failure-text.ts";
import { failuresStanding, TROUBLED } from "../../widgets/standing.ts";
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
  /** What the instances are called, by id. */
  readonly names: Readonly<Record<string, string>>;
  readonly instances: number;
}

const OPEN: ReadonlySet<string> = new Set(["requested", "accepted", "running"]);
const LIMIT = 200;
const NOTHING: Found = { needs: [], open: [], names: {}, instances: 0 };

export function useAttention(projectId: string): Found & { readonly live: Live<Found> } {
  const live = useLive(`attention:${projectId}`, (signal) => readAttention(projectId, signal), {
    on: ({ type }) => type.startsWith("apps.") || type.startsWith("capacity."),
  });
  return { ...(live.value ?? NOTHING), live };
}

async function readAttention(projectId: string, signal: AbortSignal): Promise<Found> {
  const path = { project_id: projectId };
  const query = { limit: LIMIT };
  const [instances, operations, allocations] = await Promise.all([
    call(
      api.GET("/api/v1/projects/{project_id}/app-instances", { params: { path, query }, signal }),
    ),
    call(api.GET("/api/v1/projects/{project_id}/operations", { params: { path, query }, signal })),
    call(api.GET("/api/v1/allocations", { params: { query: { ...query, ...path } }, signal })),
  ]);
  const live = new Map(
    instances.items.filter(({ status }) => status !== "deleted").map((one) => [one.id, one]),
  );
  const asked = operations.items.filter(({ instance_id }) => live.has(instance_id));
  const members = await readMembersOf(asked, signal);
  return {
    needs: [
      ...[...live.values()].filter(troubled).map(instanceNeed),
      ...failuresStanding(asked, [...live.values()], members).map((operation) =>
        operationNeed(operation, live.get(operation.instance_id)),
      ),
      ...allocations.items.filter(({ status }) => TROUBLED.has(status)).map(allocationNeed),
    ],
    open: operations.items.filter(({ status }) => OPEN.has(status)),
    names: Object.fromEntries([...live.values()].map((one) => [one.id, nameOf(one)])),
    instances: live.size,
  };
}

/** The members of those instances alone in which an operation on a member failed. */
async function readMembersOf(
  operations: readonly Operation[],
  signal: AbortSignal,
): Promise<readonly Member[]> {
  const failed = operations.filter(
    ({ status, member_id }) => status === "failed" && member_id !== null,
  );
  const read = await Promise.all(
    [...new Set(failed.map(({ instance_id }) => instance_id))].map((instance_id) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}/members", {
          params: { path: { instance_id }, query: { limit: LIMIT } },
          signal,
        }),
      ),
    ),
  );
  return read.flatMap(({ items }) => items);
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
