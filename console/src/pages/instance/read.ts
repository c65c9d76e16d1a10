/** What the page of an instance reads: the instance, its members, its latest operations. Each is read again
 * when an event of the instance says so. */

import { api, call } from "../../api/client.ts";
import type { AppInstance, CloudEvent, Member, Operation } from "../../api/contract.ts";
import { pageQuery, readPages } from "../../api/pages.ts";
import { placeOf } from "../../app/place.ts";
import { machinesOf } from "../../forms/use-offers.ts";
import {
  type ListArguments,
  type LiveList,
  readListAhead,
  rowOf,
  useList,
} from "../../live/use-list.ts";
import { type Live, type LiveArguments, readAhead, useLive } from "../../live/use-live.ts";
import { versionOf } from "../../manifest/use-manifest.ts";
import { failuresStanding } from "../../widgets/standing.ts";

const MOST_PAGES = 5;

export function useInstance(id: string): Live<AppInstance> {
  return useLive(...instanceOf(id));
}

export function useMembers(id: string): Live<readonly Member[]> {
  return useLive(...membersOf(id));
}

export function useOperations(id: string): LiveList<Operation> {
  return useList(...operationsOf(id));
}

/** What stands first on the page: what the instance is made from too, where a list has shown it. */
export function readInstanceAhead(id: string): void {
  const row = rowOf<AppInstance>("instances", id);
  readAhead(...instanceOf(id));
  readAhead(...membersOf(id));
  readListAhead(...operationsOf(id));
  if (row === null) return;
  readAhead(...versionOf(row.app_slug, row.app_version));
  readAhead(...machinesOf(placeOf(row), true));
}

function instanceOf(id: string): LiveArguments<AppInstance> {
  return [
    `instance:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}", {
          params: { path: { instance_id: id } },
          signal,
        }),
      ),
    { on: (event) => concerns(event, id), seed: () => rowOf("instances", id) },
  ];
}

function membersOf(id: string): LiveArguments<readonly Member[]> {
  return [
    `members:${id}`,
    async (signal) => {
      const read = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/app-instances/{instance_id}/members", {
              params: { path: { instance_id: id }, query: pageQuery(cursor) },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return read.items;
    },
    { on: (event) => concerns(event, id) },
  ];
}

function operationsOf(id: string): ListArguments<Operation> {
  return [
    `operations:${id}`,
    (cursor, signal) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}/operations", {
          params: { path: { instance_id: id }, query: { ...pageQuery(cursor), limit: 100 } },
          signal,
        }),
      ),
    { on: (event) => concerns(event, id) },
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
