/** Where the person works: the project the pages of the navigation are about. Chosen in the top bar, or
 * by following a link into another project; remembered between visits. */

import { useEffect } from "react";
import { api, call } from "../api/client.ts";
import type { CloudEvent, Place, Schemas } from "../api/contract.ts";
import { type Pages, pageQuery, readPages } from "../api/pages.ts";
import { createStore, useStore } from "../live/store.ts";
import { type Live, type LiveArguments, useLive } from "../live/use-live.ts";
import { session } from "./session.ts";

export type Project = Schemas["Project"];

const KEY = "gpuaas.project";
const MOST_PAGES = 5;
const NONE: Pages<Project> = { items: [], more: false };

/** The id of the chosen project; it may be one the person can no longer see. */
export const chosenProject = createStore<string | null>(remembered());

export function chooseProject(projectId: string): void {
  chosenProject.set(projectId);
  try {
    window.localStorage.setItem(KEY, projectId);
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
}

/** The projects in reach, for the switcher and for names. */
export function useProjects(): Live<readonly Project[]> {
  const live = useProjectPages();
  return { ...live, value: live.value?.items ?? null };
}

/** The project that is worked in: the chosen one, or the first in reach. */
export function useProject(): Project | null {
  const chosen = useStore(chosenProject);
  const { items, more } = useProjectPages().value ?? NONE;
  const listed = items.find(({ id }) => id === chosen);
  // Who reaches more than are listed may work in one of the others, and is taken to no other before that is known.
  const other = useLive(...projectOf(listed === undefined && more ? chosen : null));
  if (listed !== undefined) return listed;
  if (more && chosen !== null && other.loading) return null;
  return other.value?.active ? other.value : (items[0] ?? null);
}

/** A link into another project, or to something of it, moves the person there. */
export function useProjectOf(thing: { readonly project_id?: string | null } | null): void {
  const id = thing?.project_id ?? null;
  useEffect(() => {
    if (id !== null && chosenProject.get() !== id) chooseProject(id);
  }, [id]);
}

export function placeOf(thing: { org_id: string | null; project_id?: string | null }): Place {
  return { org_id: thing.org_id, project_id: thing.project_id ?? null };
}

/** The names of the tenants the person has to do with, by id. */
export function useTenantNames(): ReadonlyMap<string, string> {
  const signedIn = useStore(session);
  const tenants = useLive(
    signedIn.kind === "signed_in" ? "tenant-names" : null,
    async (signal) => {
      const read = await readPages(
        (cursor) =>
          call(api.GET("/api/v1/tenants", { params: { query: pageQuery(cursor) }, signal })),
        MOST_PAGES,
        signal,
      );
      return read.items;
    },
    { on: ({ type }) => type.startsWith("identity.tenant") },
  );
  const names = new Map<string, string>();
  if ("who" in signedIn) {
    for (const { scope } of signedIn.who.bindings) {
      if (scope.org_id && scope.org_name) names.set(scope.org_id, scope.org_name);
    }
  }
  for (const { id, display_name } of tenants.value ?? []) names.set(id, display_name);
  return names;
}

function useProjectPages(): Live<Pages<Project>> {
  const signedIn = useStore(session).kind === "signed_in";
  return useLive(signedIn ? "projects" : null, readProjects, { on: aboutProjects });
}

async function readProjects(signal: AbortSignal): Promise<Pages<Project>> {
  const read = await readPages(
    (cursor) => call(api.GET("/api/v1/projects", { params: { query: pageQuery(cursor) }, signal })),
    MOST_PAGES,
    signal,
  );
  return { ...read, items: read.items.filter(({ active }) => active) };
}

function projectOf(id: string | null): LiveArguments<Project> {
  return [
    id === null ? null : `project:${id}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}", {
          params: { path: { project_id: id ?? "" } },
          signal,
        }),
      ),
    { on: aboutProjects },
  ];
}

function aboutProjects({ type }: CloudEvent): boolean {
  return type.startsWith("identity.project");
}

function remembered(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
