/** Keeps the stream of events open for whoever is signed in: of the project they work in. Used by the
 * shell alone. */

import { useEffect } from "react";
import { followEvents } from "../live/events.ts";
import { useStore } from "../live/store.ts";
import { useProject } from "./place.ts";
import { session, sessionRead } from "./session.ts";

export function useFollowEvents(): void {
  const signedIn = useStore(session).kind === "signed_in";
  const projectId = useProject()?.id ?? null;
  useEffect(() => {
    if (!signedIn) return;
    const query = projectId === null ? "" : `?${new URLSearchParams({ project_id: projectId })}`;
    return followEvents(query, (problem) => {
      // Without the permission to read events pages live by reading now and then.
      if (problem.status === 401) void sessionRead();
    });
  }, [signedIn, projectId]);
}
