/** An app as a project sees it, and its versions as one chooses among them: those that cannot be chosen with the
 * reason. Used by the version picker and by the wizard of a deploy. */

import { api, call } from "../api/client.ts";
import type { Schemas } from "../api/contract.ts";
import { type Live, useLive } from "../live/use-live.ts";
import { sentence } from "../widgets/words.ts";

export type ProjectApp = Schemas["ProjectApp"];

export function useProjectApp(projectId: string | null, slug: string | null): Live<ProjectApp> {
  return useLive(
    projectId === null || slug === null ? null : `project-app:${projectId}:${slug}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/apps/{slug}", {
          params: { path: { project_id: projectId ?? "", slug: slug ?? "" } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("catalog.") },
  );
}

export function versionOption({
  version,
  status,
  available,
  reasons,
}: Schemas["ProjectAppVersion"]) {
  const reason = reasons.map(({ message }) => message).join(" ");
  return {
    value: version,
    label: version,
    description: sentence(status),
    disabled: !available,
    ...(reason === "" ? {} : { disabledReason: reason }),
  };
}
