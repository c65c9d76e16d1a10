/** Deploys an app: a wizard drawn from its manifest, with the price before it is sent. */

import Wizard from "@cloudscape-design/components/wizard";
import { useState } from "react";
import type { FieldError, Problem } from "../../api/problem.ts";
import { useTellTitle } from "../../app/page-title.ts";
import { navigate, type PageProps } from "../../app/router.tsx";
import { session } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { type ProjectApp, useProjectApp } from "../../forms/project-app.ts";
import { useStore } from "../../live/store.ts";
import { Loaded, Page } from "../../widgets/page.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { Configure } from "./configure.tsx";
import { type Draft, draftForget, draftKey, isTyped, useDraft } from "./draft.ts";
import { Identity } from "./identity.tsx";
import { Review } from "./review.tsx";
import { REVIEW, useDeploy } from "./use-deploy.ts";
import { useSending } from "./use-sending.ts";

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
  const deploy = useDeploy({ app, projectId, draft });
  const { asked, input, ready } = deploy;
  const [tried, setTried] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const sending = useSending({ projectId, storeKey, draft, onSent: setDraft });
  const { problem } = sending;

  function change(next: Draft): void {
    setDraft(next);
    // Something else was refused.
    sending.clear();
  }

  function goTo(step: number): void {
    const forward = step > draft.step;
    setTried(forward && !ready[draft.step]);
    if (forward && !ready.slice(0, step).every(Boolean)) return;
    setTried(false);
    setDraft({ ...draft, step, replaced: null });
  }

  async function submit(): Promise<void> {
    const { body } = deploy;
    if (sending.sending || asked.value === null || body === null) return;
    const unready = ready.indexOf(false);
    if (unready !== -1) {
      setTried(true);
      return setDraft({ ...draft, step: unready });
    }
    await sending.send(body);
  }

  function leave(): void {
    draftForget(storeKey);
    navigate(`/projects/${projectId}/catalog/${app.slug}`);
  }

  return (
    <>
      <Wizard
        i18nStrings={{ submitButton: "Deploy" }}
        activeStepIndex={draft.step}
        isLoadingNextStep={sending.sending || (draft.step === REVIEW && deploy.reading)}
        onNavigate={({ detail }) => goTo(detail.requestedStepIndex)}
        onCancel={() => (isTyped(draft) ? setLeaving(true) : leave())}
        onSubmit={() => void submit()}
        steps={[
          {
            title: "Version and name",
            content: <Identity app={app} draft={draft} onChange={change} showAll={tried} />,
          },
          {
            title: "Configure",
            description: asked.value?.form.description ?? "",
            content: (
              <Loaded live={asked}>
                {(found) => (
                  <Configure
                    asked={found}
                    input={input}
                    onChange={(settings) => change({ ...draft, settings })}
                    errors={[...deploy.errors, ...settingsErrors(problem)]}
                    showAll={tried || problem !== null}
                    projectId={projectId}
                    slug={app.slug}
                  />
                )}
              </Loaded>
            ),
          },
          {
            title: "Review",
            content: (
              <>
                {problem !== null && <ProblemAlert problem={problem} />}
                <Loaded live={asked}>
                  {({ manifest }) => (
                    <Review
                      app={app}
                      draft={draft}
                      manifest={manifest}
                      input={input.sent}
                      offers={deploy.offers}
                      inTheWay={deploy.inTheWay}
                      onEdit={goTo}
                    />
                  )}
                </Loaded>
              </>
            ),
          },
        ]}
      />
      {leaving && (
        <FormDialog
          title="Drop what you filled in?"
          submitText="Drop it"
          submit={() => Promise.resolve(leave())}
          onClose={() => setLeaving(false)}
        >
          Nothing of it is sent. To come back to it, leave by any link in place of this: it is kept
          until this tab is closed.
        </FormDialog>
      )}
    </>
  );
}

function settingsErrors(problem: Problem | null): FieldError[] {
  return (problem?.fieldErrors ?? [])
    .filter(({ pointer }) => pointer.startsWith("/settings"))
    .map(({ pointer, message }) => ({ pointer: pointer.slice("/settings".length), message }));
}
