/** Who may act in a project, as far as whoever looks may read it: its people and its service accounts, by name. Called
 * by pages that ask about somebody. */

import { api, call } from "../api/client.ts";
import type { Place } from "../api/contract.ts";
import { pageQuery, readPages } from "../api/pages.ts";
import { useCan } from "../app/access.ts";
import { useLive } from "../live/use-live.ts";
import type { Suggestion, Suggestions } from "./suggest.tsx";

const MOST_PAGES = 5;

export function usePrincipals(place: Place): Suggestions {
  const can = useCan();
  const id = place.project_id;
  const people = id !== null && can("identity.person.read", place);
  const accounts = id !== null && can("identity.service_account.read", place);
  const may = people || accounts;
  const read = useLive(
    may ? `principals:${id}:${people}:${accounts}` : null,
    async (signal) => {
      const found = await Promise.all([
        people ? readPeople(id, signal) : [],
        accounts ? readAccounts(id, signal) : [],
      ]);
      return found.flat();
    },
    { on: ({ type }) => type.startsWith("identity.") },
  );
  return { ...read, loading: may && read.loading };
}

/** A person as a choice: two may have one name, no two have one address. */
export function personSuggested(id: string, name: string, email: string): Suggestion {
  return { value: id, called: name === "" ? email : `${name} (${email})` };
}

async function readPeople(projectId: string, signal: AbortSignal): Promise<Suggestion[]> {
  const path = { project_id: projectId };
  const { items } = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/projects/{project_id}/people", {
          params: { path, query: pageQuery(cursor) },
          signal,
        }),
      ),
    MOST_PAGES,
    signal,
  );
  return items.map(({ user_id, display_name, email }) =>
    personSuggested(user_id, display_name, email),
  );
}

async function readAccounts(projectId: string, signal: AbortSignal): Promise<Suggestion[]> {
  const path = { project_id: projectId };
  const { items } = await readPages(
    (cursor) =>
      call(
        api.GET("/api/v1/projects/{project_id}/service-accounts", {
          params: { path, query: pageQuery(cursor) },
          signal,
        }),
      ),
    MOST_PAGES,
    signal,
  );
  return items.map(({ id, name }) => ({ value: id, called: name, description: "Service account" }));
}
