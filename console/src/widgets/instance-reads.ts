/** What more than one page reads of an instance: it, one member, all that are there. One key each, so that whoever
 * shows the same shares one reader. Called by the pages of an instance, an operation, a correlation id, an allocation. */

import { api, call } from "../api/client.ts";
import type { AppInstance, Member } from "../api/contract.ts";
import { pageQuery, readPages } from "../api/pages.ts";
import { rowOf } from "../live/use-list.ts";
import { type Live, type LiveArguments, useLive } from "../live/use-live.ts";

/** More than any instance has: what is counted and found here are all of them. */
const MOST_PAGES = 25;

export function instanceOf(id: string): LiveArguments<AppInstance> {
  return [
    `instance:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/app-instances/{instance_id}", {
          params: { path: { instance_id: id } },
          signal,
        }),
      ),
    {
      on: ({ appinstanceid }) => appinstanceid === id,
      seed: () => rowOf("instances", id),
    },
  ];
}

/** Those that are there, however many; of none, nothing. */
export function membersOf(id: string | null, later = false): LiveArguments<readonly Member[]> {
  return [
    id === null ? null : `members:${id}`,
    async (signal) => {
      const path = { instance_id: id ?? "" };
      const read = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/app-instances/{instance_id}/members", {
              params: { path, query: pageQuery(cursor) },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return read.items;
    },
    { on: ({ appinstanceid }) => appinstanceid === id, later },
  ];
}

/** One member, also a removed one. */
export function useMember(id: string | null, instanceId: string): Live<Member> {
  return useLive(
    id === null ? null : `member:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/app-members/{member_id}", {
          params: { path: { member_id: id ?? "" } },
          signal,
        }),
      ),
    { on: ({ appinstanceid }) => appinstanceid === instanceId },
  );
}
