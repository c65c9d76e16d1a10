/** What a deploy reads: what a version asks for here, and the platform's word on an input. */

import { useEffect, useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Manifest, Schemas } from "../../api/contract.ts";
import { type FieldError, Problem } from "../../api/problem.ts";
import { released } from "../../live/press.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { useManifest } from "../../manifest/use-manifest.ts";

/** What a version asks for: its form as it is here, and the manifest the form is read with. */
export interface Asked {
  readonly form: Schemas["OperationForm"];
  readonly manifest: Manifest;
}

export function useAsked(projectId: string, slug: string, version: string | null): Live<Asked> {
  const form = useDeployForm(projectId, slug, version);
  const read = useManifest(slug, version);
  const manifest = read.value?.manifest ?? null;
  const problem = form.problem ?? read.problem;
  const value = form.value === null || manifest === null ? null : { form: form.value, manifest };
  return {
    value,
    problem,
    loading: value === null && problem === null,
    readNow() {
      form.readNow();
      read.readNow();
    },
  };
}

function useDeployForm(
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
    const gone = new AbortController();
    const timer = setTimeout(() => {
      void errorsOf(JSON.parse(content) as Question, gone.signal).then((found) => {
        if (!gone.signal.aborted) setErrors(found);
      });
    }, ASK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [content]);
  return errors;
}

async function errorsOf(
  { projectId, slug, version, input }: Question,
  signal: AbortSignal,
): Promise<readonly FieldError[]> {
  try {
    const { errors } = await call(
      api.POST("/api/v1/projects/{project_id}/apps/{slug}/versions/{version}/validate-input", {
        params: { path: { project_id: projectId, slug, version } },
        body: { input },
        signal,
      }),
    );
    await released();
    return errors;
  } catch (thrown) {
    if (!(thrown instanceof Problem)) throw thrown;
    // Not being able to ask is no error of the input, and what was found is about another one; the deploy itself is
    // checked anyway.
    return [];
  }
}
