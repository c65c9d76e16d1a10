/** What the page of an instance reads: the instance, its members, its latest operations. Each is read again
 * when an event of the instance says so. */

import { api, call } from "../../api/client.ts";
import type { AppInstance, CloudEvent, Manifest, Member, Operation } from "../../api/contract.ts";
import { pageQuery } from "../../api/pages.ts";
import {
  type ListArguments,
  type LiveList,
  readListAhead,
  rowOf,
  useList,
} from "../../live/use-list.ts";
import { known, type Live, readAhead, useLive } from "../../live/use-live.ts";
import { versionOf } from "../../manifest/use-manifest.ts";
import { instanceOf, membersOf } from "../../widgets/instance-reads.ts";
import { failuresStanding, TROUBLED } from "../../widgets/standing.ts";
import { namesMachinesFirst } from "./overview-tab.tsx";

export function useInstance(id: string): Live<AppInstance> {
  return useLive(...instanceOf(id));
}

export function useMembers(id: string, later: boolean): Live<readonly Member[]> {
  return useLive(...membersOf(id, later));
}

export function useOperations(id: string, later: boolean): LiveList<Operation> {
  return useList(...operationsOf(id, later));
}

/** Those that are no more, newest first; asked for when somebody wants to see them. */
export function useRemovedMembers(id: string, wanted: boolean): LiveList<Member> {
  return useList(
    wanted ? `removed-members:${id}` : null,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}/members", {
          params: {
            path: { instance_id: id },
            query: { status: ["removed"], ...pageQuery(cursor) },
          },
          signal,
        }),
      ),
    { on: (event) => concerns(event, id) },
  );
}

/** What stands first on the page; of an instance that a list has shown, what it is made from too. */
export function readInstanceAhead(id: string, tab: string): void {
  const row = rowOf<AppInstance>("instances", id);
  const version = row && versionOf(row.app_slug, row.app_version);
  const manifest = version && known(version)?.manifest;
  readAhead(...instanceOf(id));
  if (version) readAhead(...version);
  if (row && manifest && standsAlone(row, manifest, tab)) return;
  readAhead(...membersOf(id, false));
  readListAhead(...operationsOf(id, false));
}

/** Whether the first screen can be drawn from the instance alone: its tab shows nothing of members there, and as
 * far as is known nothing is under way and nothing is wrong. What is under way after all comes right behind it. */
export function standsAlone(instance: AppInstance, manifest: Manifest, tab: string): boolean {
  const calm = CALM.has(instance.status) && !TROUBLED.has(instance.health);
  return calm && tab === "" && !namesMachinesFirst(manifest);
}

const CALM: ReadonlySet<string> = new Set(["running", "stopped"]);

function operationsOf(id: string, later: boolean): ListArguments<Operation> {
  return [
    `operations:${id}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}/operations", {
          params: { path: { instance_id: id }, query: { ...pageQuery(cursor), limit: 100 } },
          signal,
        }),
      ),
    { on: (event) => concerns(event, id), later },
  ];
}

const OPEN: ReadonlySet<string> = new Set(["requested", "accepted", "running"]);

function isOpen({ status }: Operation): boolean {
  return OPEN.has(status);
}

/** What is under way now, the oldest first; and behind it what failed and was not dealt with, of the whole or
 * of a member. */
export function currentOperations(
  operations: readonly Operation[],
  instance: AppInstance,
  members: readonly Member[],
): readonly Operation[] {
  const failed = failuresStanding(operations, [instance], members);
  return [...operations.filter(isOpen).toReversed(), ...failed];
}

function concerns(event: CloudEvent, id: string): boolean {
  return event.appinstanceid === id;
}
