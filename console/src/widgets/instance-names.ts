/** What people call the instances of a project: lists that know them by their ids read it once for all rows. */

import { api, call } from "../api/client.ts";
import { pageQuery, readPages } from "../api/pages.ts";
import { useLive } from "../live/use-live.ts";
import { shortId } from "./words.ts";

const MOST_PAGES = 5;

export type NameOf = (id: string) => string;

/** By its short id until that was read, and for whoever may not read it. */
export function useInstanceNames(projectId: string): NameOf {
  const { value } = useLive(
    `instance-names:${projectId}`,
    async (signal) => {
      const path = { project_id: projectId };
      const read = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/projects/{project_id}/app-instances", {
              params: { path, query: pageQuery(cursor) },
              signal,
            }),
          ),
        MOST_PAGES,
        signal,
      );
      return read.items.map(({ id, resource_name, display_name }) => ({
        id,
        name: display_name || resource_name,
      }));
    },
    { on: ({ type }) => type.startsWith("apps.instance"), later: true },
  );
  const names = new Map((value ?? []).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? shortId(id);
}
