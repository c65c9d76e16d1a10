/** Who may stand in the audit, by name: the people in reach of whoever looks, and who acts in the project that is
 * worked in. Called by the filters; others are found by their ids. */

import { api, call } from "../../api/client.ts";
import { pageQuery, readPages } from "../../api/pages.ts";
import { canSomewhere } from "../../app/access.ts";
import { useProject } from "../../app/place.ts";
import { session } from "../../app/session.ts";
import { useStore } from "../../live/store.ts";
import { useLive } from "../../live/use-live.ts";
import { personSuggested, usePrincipals } from "../../widgets/principals.ts";
import type { Suggestion, Suggestions } from "../../widgets/suggest.tsx";

const MOST_PAGES = 5;

export function useActors(): Suggestions {
  const project = useProject();
  const here = usePrincipals({
    org_id: project?.org_id ?? null,
    project_id: project?.id ?? null,
  });
  const people = usePeople();
  const known = [...(people.value ?? []), ...(here.value ?? [])];
  return {
    value: [...new Map(known.map((one) => [one.value, one])).values()],
    problem: people.problem ?? here.problem,
    loading: people.loading || here.loading,
    readNow() {
      people.readNow();
      here.readNow();
    },
  };
}

function usePeople(): Suggestions {
  const current = useStore(session);
  const may = canSomewhere("who" in current ? current.who : null, "identity.user.read");
  const read = useLive(may ? "people-in-reach" : null, readPeople, {
    on: ({ type }) => type.startsWith("identity.user"),
  });
  return { ...read, loading: may && read.loading };
}

async function readPeople(signal: AbortSignal): Promise<readonly Suggestion[]> {
  const { items } = await readPages(
    (cursor) => call(api.GET("/api/v1/users", { params: { query: pageQuery(cursor) }, signal })),
    MOST_PAGES,
    signal,
  );
  return items.map(({ id, display_name, email }) => personSuggested(id, display_name, email));
}
