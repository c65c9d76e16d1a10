/** What a deploy asks, what is answered so far, and which of its steps are done: for the wizard, which shows it. */

import type { JsonObject } from "../../api/contract.ts";
import { useProject } from "../../app/place.ts";
import type { ProjectApp } from "../../forms/project-app.ts";
import { useOffers } from "../../forms/use-offers.ts";
import { allocationsOf } from "../../manifest/placement.ts";
import type { Draft } from "./draft.ts";
import { nameError } from "./identity.tsx";
import { inTheWay } from "./in-the-way.ts";
import { inputOf, NO_INPUT } from "./input.ts";
import { useAsked, useInputErrors } from "./read.ts";

/** The step that needs to know what the machines cost and whether they are free. */
export const REVIEW = 2;

interface Deploying {
  readonly app: ProjectApp;
  readonly projectId: string;
  readonly draft: Draft;
}

export function useDeploy({ app, projectId, draft }: Deploying) {
  const project = useProject();
  const asked = useAsked(projectId, app.slug, draft.version);
  const input = asked.value === null ? NO_INPUT : inputOf(draft, asked.value.form);
  const server = useInputErrors(
    draft.version === null || input.wrong.length > 0 || asked.value === null
      ? null
      : { projectId, slug: app.slug, version: draft.version, input: input.sent },
  );
  const offers = useOffers({
    org_id: project?.org_id ?? null,
    project_id: draft.step === REVIEW ? projectId : null,
  });
  const errors = [...input.wrong, ...server];
  const body = draft.version === null ? null : bodyOf(app.slug, draft.version, draft, input.sent);
  // Its own deploy may be what holds the machines, where only the answer was lost.
  const sentBefore = draft.sent?.content === JSON.stringify(body);
  const operation = asked.value?.manifest.operations.find(({ purpose }) => purpose === "deploy");
  const machines = operation === undefined ? [] : allocationsOf(operation, input.sent);
  const blocking = sentBefore || offers.value === null ? [] : inTheWay(machines, offers.value);
  return {
    asked,
    input,
    errors,
    offers,
    body,
    inTheWay: blocking,
    reading: asked.loading || offers.loading,
    ready: [
      draft.version !== null && nameError(draft.name) === null,
      asked.value !== null && errors.length === 0,
      sentBefore || (offers.value !== null && blocking.length === 0),
    ],
  };
}

function bodyOf(slug: string, version: string, draft: Draft, settings: JsonObject) {
  return {
    app_slug: slug,
    version,
    name: draft.name,
    display_name: draft.displayName,
    settings,
  };
}
