/** What needs attention in a project, gathered from its instances, operations and allocations. */

import { api, call } from "../../api/client.ts";
import type { Allocation, AppInstance, Operation } from "../../api/contract.ts";
import { type Live, useLive } from "../../live/use-live.ts";
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
  readonly instances: number;
}

const TROUBLED: ReadonlySet<string> = new Set([
  "failed",
  "degraded",
  "cleanup_blocked",
  "unreachable",
]);
const OPEN: ReadonlySet<string> = new Set(["requested", "accepted", "running"]);
const LIMIT = 200;

export function useAttention(projectId: string): Found & { readonly live: Live<Found> } {
  const live = useLive(`attention:${projectId}`, (signal) => readAttention(projectId, signal), {
    on: ({ type }) => type.startsWith("apps.") || type.startsWith("capacity."),
  });
  return { ...(live.value ?? { needs: [], open: [], instances: 0 }), live };
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
  const live = instances.items.filter(({ status }) => status !== "deleted");
  const last = new Map(live.map((instance) => [instance.last_operation_id, instance]));
  return {
    needs: [
      ...live.filter(troubled).map(instanceNeed),
      ...operations.items
        .filter(({ status, id }) => status === "failed" && last.has(id))
        .map((operation) => operationNeed(operation, last.get(operation.id))),
      ...allocations.items.filter(({ status }) => TROUBLED.has(status)).map(allocationNeed),
    ],
    open: operations.items.filter(({ status }) => OPEN.has(status)),
    instances: live.length,
  };
}

function troubled({ status, health, conditions }: AppInstance): boolean {
  return TROUBLED.has(status) || TROUBLED.has(health) || conditions.length > 0;
}

function instanceNeed(instance: AppInstance): Need {
  const { id, resource_name, display_name, status, health, conditions, adapter_detail } = instance;
  const said = conditions.map(({ message, reason, type }) => message || reason || sentence(type));
  return {
    key: id,
    name: display_name || resource_name,
    href: `/instances/${id}`,
    status: TROUBLED.has(status) ? status : health,
    why: said.join(" ") || adapter_detail?.summary || "",
    since: conditions[0]?.since ?? instance.updated_at,
  };
}

function operationNeed(operation: Operation, instance: AppInstance | undefined): Need {
  const { id, kind, error, ended_at, requested_at } = operation;
  return {
    key: id,
    name: `${sentence(kind)}${instance === undefined ? "" : ` of ${instance.resource_name}`}`,
    href: `/operations/${id}`,
    status: "failed",
    why: error?.message ?? "",
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
