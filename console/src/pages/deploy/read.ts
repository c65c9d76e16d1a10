/** What a deploy reads: the app as the project sees it, its form here, and the platform's word on an
 * input. */

import { useEffect, useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { type FieldError, Problem } from "../../api/problem.ts";
import { released } from "../../live/press.ts";
import { type Live, useLive } from "../../live/use-live.ts";

export function useProjectApp(projectId: string, slug: string): Live<Schemas["ProjectApp"]> {
  return useLive(
    `project-app:${projectId}:${slug}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/apps/{slug}", {
          params: { path: { project_id: projectId, slug } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("catalog.") },
  );
}

export function useDeployForm(
  projectId: string,
  slug: string,
  version: string | null,
): Live<Schemas["OperationForm"]> {
  return useLive(
    version === null ? null : `form:${projectId}:${slug}@${version}`,
    (signal) =>
      call(
        api.GET("/api/v1/projects/{project_id}/apps/{slug}/versions/{version}/form", {
          params: { path: { project_id: projectId, slug, version: version ?? "" } },
          signal,
        }),
      ),
    { on: ({ type }) => type.startsWith("catalog.entitlement") },
  );
}

const ASK_AFTER_MS = 300;

interface Question {
  readonly projectId: string;
  readonly slug: string;
  readonly version: string;
  readonly input: JsonObject;
}

/** What the platform finds wrong with an input, a moment after it was typed. */
export function useInputErrors(question: Question | null): readonly FieldError[] {
  const [errors, setErrors] = useState<readonly FieldError[]>([]);
  const content = question === null ? null : JSON.stringify(question);
  useEffect(() => {
    if (content === null) return setErrors([]);
    const { projectId, slug, version, input } = JSON.parse(content) as Question;
    const gone = new AbortController();
    const timer = setTimeout(() => {
      call(
        api.POST("/api/v1/projects/{project_id}/apps/{slug}/versions/{version}/validate-input", {
          params: { path: { project_id: projectId, slug, version } },
          body: { input },
          signal: gone.signal,
        }),
      ).then(
        async ({ errors: found }) => {
          await released();
          if (!gone.signal.aborted) setErrors(found);
        },
        (thrown: unknown) => {
          // Not being able to ask is no error of the input; the deploy itself is checked anyway.
          if (!(thrown instanceof Problem)) throw thrown;
        },
      );
    }, ASK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [content]);
  return errors;
}
