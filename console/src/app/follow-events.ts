/** Keeps the stream of events open for whoever is signed in: of the project they work in, and of what is of
 * no project, as its tenant's entitlements and, for operators, nodes. Used by the shell alone. */

import { useEffect } from "react";
import type { CloudEvent } from "../api/contract.ts";
import { followEvents, onPlatformEvent } from "../live/events.ts";
import { useStore } from "../live/store.ts";
import { useProject } from "./place.ts";
import { session, sessionRead } from "./session.ts";

export function useFollowEvents(): void {
  const signedIn = useStore(session).kind === "signed_in";
  const projectId = useProject()?.id ?? null;
  useEffect(() => (signedIn ? onPlatformEvent(rolesFollow) : undefined), [signedIn]);
  useEffect(() => {
    if (!signedIn) return;
    const place = projectId === null ? {} : { project_id: projectId, above: "true" };
    return followEvents(`?${new URLSearchParams(place)}`, (problem) => {
      // Without the permission to read events pages live by reading now and then.
      if (problem.status === 401) void sessionRead();
    });
  }, [signedIn, projectId]);
}

/** A role was given or taken away, perhaps this person's: what they may do is read anew. */
function rolesFollow({ type }: CloudEvent): void {
  if (type.startsWith("identity.role_binding.")) void sessionRead();
}
