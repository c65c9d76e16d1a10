/** Deploys an app: a wizard drawn from its manifest, with the price before it is sent. */

import Wizard from "@cloudscape-design/components/wizard";
import { type Dispatch, type SetStateAction, useEffect, useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type { JsonObject, Manifest, Schemas } from "../../api/contract.ts";
import type { FieldError, Problem } from "../../api/problem.ts";
import { noticeDone } from "../../app/notices.ts";
import { useTellTitle } from "../../app/page-title.ts";
import { useProject } from "../../app/place.ts";
import { navigate, type PageProps } from "../../app/router.tsx";
import { session } from "../../app/session.ts";
import { check } from "../../forms/check.ts";
import { expanded, pruned, visibleFields } from "../../forms/schema.ts";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { keyFor } from "../../forms/use-submission.ts";
import { useStore } from "../../live/store.ts";
import { useManifest } from "../../manifest/use-manifest.ts";
import { Loaded, Page } from "../../widgets/page.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { type Draft, draftForget, draftKey, draftRead, draftWrite } from "./draft.ts";
import { Identity, nameError } from "./identity.tsx";
import { useDeployForm, useInputErrors, useProjectApp } from "./read.ts";
import { Review } from "./review.tsx";

type ProjectApp = Schemas["ProjectApp"];
type Form = Schemas["OperationForm"];

export default function DeployPage({ params }: PageProps) {
  const { project_id: projectId = "", slug = "" } = params;
  const app = useProjectApp(projectId, slug);
  useTellTitle(
    `/projects/${projectId}/catalog/${encodeURIComponent(slug)}`,
    app.value?.display_name ?? null,
  );
  const current = useStore(session);
  if (!("who" in current)) return null;
  const key = draftKey(current.who.id, projectId, slug);
  return (
    <Page title={`Deploy ${app.value?.display_name ?? slug}`}>
      <Loaded live={app}>
        {(found) => <DeployWizard key={key} app={found} projectId={projectId} storeKey={key} />}
      </Loaded>
    </Page>
  );
}

interface DeployWizardProps {
  readonly app: ProjectApp;
  readonly projectId: string;
  readonly storeKey: string;
}

function DeployWizard({ app, projectId, storeKey }: DeployWizardProps) {
  const [draft, setDraft] = useDraft(storeKey, app);
  const form = useDeployForm(projectId, app.slug, draft.version).value;
  const manifest = useManifest(app.slug, draft.version).value?.manifest ?? null;
  const input = useInput(draft, form);
  const [tried, setTried] = useState(false);
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const server = useInputErrors(
    draft.version === null || input.wrong.length > 0 || form === null
      ? null
      : { projectId, slug: app.slug, version: draft.version, input: input.sent },
  );
  const errors = [...input.wrong, ...server, ...settingsErrors(problem)];
  const ready = [
    draft.version !== null && nameError(draft.name) === null,
    form !== null && errors.length === 0,
    true,
  ];

  function goTo(step: number): void {
    const forward = step > draft.step;
    setTried(forward && !ready[draft.step]);
    if (forward && !ready.slice(0, step).every(Boolean)) return;
    setTried(false);
    setDraft({ ...draft, step });
  }

  async function submit(): Promise<void> {
    if (sending || draft.version === null) return;
    const body = {
      app_slug: app.slug,
      version: draft.version,
      name: draft.name,
      display_name: draft.displayName,
      settings: input.sent,
    };
    // The key is kept with the draft: sent again after a reload, it is still the same request.
    const sent = keyFor(JSON.stringify(body), draft.sent);
    const kept = { ...draft, sent };
    setDraft(kept);
    draftWrite(storeKey, kept);
    setSending(true);
    setProblem(null);
    try {
      const { instance } = await call(
        api.POST("/api/v1/projects/{project_id}/app-instances", {
          params: { path: { project_id: projectId } },
          body,
          headers: { "Idempotency-Key": sent.key },
        }),
      );
      draftForget(storeKey);
      noticeDone(`${instance.resource_name} is being deployed.`);
      navigate(`/instances/${instance.id}`);
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setSending(false);
    }
  }

  function leave(): void {
    draftForget(storeKey);
    navigate(`/projects/${projectId}/catalog/${app.slug}`);
  }

  return (
    <Wizard
      i18nStrings={{ submitButton: "Deploy" }}
      activeStepIndex={draft.step}
      isLoadingNextStep={sending}
      onNavigate={({ detail }) => goTo(detail.requestedStepIndex)}
      onCancel={leave}
      onSubmit={() => void submit()}
      steps={[
        {
          title: "Version and name",
          content: <Identity app={app} draft={draft} onChange={setDraft} showAll={tried} />,
        },
        {
          title: "Configure",
          description: form?.description ?? "",
          content: (
            <Configure
              form={form}
              manifest={manifest}
              draft={draft}
              onChange={setDraft}
              errors={errors}
              showAll={tried}
              projectId={projectId}
            />
          ),
        },
        {
          title: "Review",
          content: (
            <>
              {problem !== null && <ProblemAlert problem={problem} />}
              <Review
                app={app}
                draft={draft}
                manifest={manifest}
                input={input.sent}
                onEdit={goTo}
              />
            </>
          ),
        },
      ]}
    />
  );
}

interface ConfigureProps {
  readonly form: Form | null;
  readonly manifest: Manifest | null;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly errors: readonly FieldError[];
  readonly showAll: boolean;
  readonly projectId: string;
}

function Configure({
  form,
  manifest,
  draft,
  onChange,
  errors,
  showAll,
  projectId,
}: ConfigureProps) {
  const project = useProject();
  if (form === null || manifest === null) return null;
  const operation = manifest.operations.find(({ kind }) => kind === form.kind);
  return (
    <SchemaForm
      schema={expanded(form.input_schema as JsonObject)}
      value={draft.settings ?? (form.initial as JsonObject)}
      onChange={(settings) => onChange({ ...draft, settings })}
      errors={errors}
      showAll={showAll}
      fixed={form.fixed}
      context={{
        place: { org_id: project?.org_id ?? null, project_id: projectId },
        manifest,
        ...(operation === undefined ? {} : { operation }),
      }}
    />
  );
}

/** The draft of this deploy, written down as it changes. */
function useDraft(key: string, app: ProjectApp): readonly [Draft, Dispatch<SetStateAction<Draft>>] {
  const [draft, setDraft] = useState(() => {
    const kept = draftRead(key);
    const known = app.versions.some(
      ({ version, available }) => available && version === kept.version,
    );
    return {
      ...kept,
      version: known ? kept.version : app.latest_available,
      name: kept.name || suggestedName(app.slug),
    };
  });
  useEffect(() => draftWrite(key, draft), [key, draft]);
  return [draft, setDraft];
}

function suggestedName(slug: string): string {
  return `${slug}-${Math.random().toString(36).slice(2, 6)}`;
}

/** The input as it is sent, and what is wrong with it at first sight. */
function useInput(draft: Draft, form: Form | null): { sent: JsonObject; wrong: FieldError[] } {
  if (form === null) return { sent: {}, wrong: [] };
  const schema = expanded(form.input_schema as JsonObject);
  const value = draft.settings ?? (form.initial as JsonObject);
  return {
    sent: pruned(schema, value),
    wrong: check(visibleFields(schema, value, form.fixed), value),
  };
}

function settingsErrors(problem: Problem | null): FieldError[] {
  return (problem?.fieldErrors ?? [])
    .filter(({ pointer }) => pointer.startsWith("/settings"))
    .map(({ pointer, message }) => ({ pointer: pointer.slice("/settings".length), message }));
}
