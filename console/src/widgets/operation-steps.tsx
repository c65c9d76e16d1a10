/** An operation step by step: what is done, what is being done and for how long, what failed and the last
 * it said. Shown on the pages of an operation and of its instance. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import LiveRegion from "@cloudscape-design/components/live-region";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Steps, { type StepsProps } from "@cloudscape-design/components/steps";
import type { Operation, OperationSpec, Step } from "../api/contract.ts";
import { useAtTime } from "../live/use-now.ts";
import { failureText } from "./failure-text.ts";
import { JsonView } from "./json-view.tsx";
import { Elapsed, Moment } from "./moment.tsx";
import { Prose } from "./prose.tsx";
import { sentence } from "./words.ts";

interface OperationStepsProps {
  readonly operation: Operation;
  /** What the manifest says of this kind; without it steps have their own names. */
  readonly spec: OperationSpec | null;
}

export function OperationSteps({ operation, spec }: OperationStepsProps) {
  const steps = stepsOf(operation, spec);
  const late = useAtTime((now) =>
    steps.findIndex(
      ({ state, deadline_at: due }) => state === "running" && !!due && Date.parse(due) < now,
    ),
  );
  const at = steps.findIndex(({ state }) => state === "running" || state === "failed");
  return (
    <SpaceBetween size="s">
      {steps.length === 0 ? (
        <Box color="text-body-secondary">{waiting(operation)}</Box>
      ) : (
        <Steps
          ariaLabel="Steps of the operation"
          steps={steps.map((step, place) =>
            drawn(said(step, operation), titleOf(step, spec), place === late),
          )}
        />
      )}
      <LiveRegion hidden>
        {at >= 0 && `Step ${at + 1} of ${steps.length}: ${titleOf(steps[at], spec)}`}
      </LiveRegion>
      {operation.cancel_requested && isOpen(operation) && (
        <Alert type="info" header="It was asked to stop">
          The app stops at its next safe point and undoes what can be undone.
        </Alert>
      )}
      <OperationFailure operation={operation} spec={spec} />
    </SpaceBetween>
  );
}

/** Why the last attempt failed, with what the failing step said last. */
export function OperationFailure({ operation, spec }: OperationStepsProps) {
  const { error, status, attempt, max_attempts, not_before } = operation;
  if (error === null || status === "succeeded") return null;
  const ended = status === "failed";
  return (
    <Alert
      type={ended ? "error" : "warning"}
      header={ended ? "It failed" : `Attempt ${error.attempt} of ${max_attempts} failed`}
    >
      <SpaceBetween size="xs">
        <div className="wrap-anywhere">
          <Prose>{failureText(error)}</Prose>
        </div>
        <Box color="text-body-secondary" fontSize="body-s">
          <code>{error.code}</code> · {FAMILIES[error.family]}
          {spec !== null && spec.purpose !== "deploy" && ` · ${left(error)}`}
        </Box>
        {Object.keys(error.detail ?? {}).length > 0 && (
          <JsonView value={error.detail} name="detail" />
        )}
        {status === "requested" && Date.parse(not_before) > Date.now() && (
          <div>
            Attempt {attempt} begins <Moment at={not_before} />.
          </div>
        )}
      </SpaceBetween>
    </Alert>
  );
}

/** A deploy has nothing before it. */
function left({ instance_usable }: NonNullable<Operation["error"]>): string {
  return instance_usable ? "what ran before still runs" : "what ran before may not run any more";
}

function isOpen({ status }: Operation): boolean {
  return status === "requested" || status === "accepted" || status === "running";
}

const FAMILIES: Readonly<Record<string, string>> = {
  temporary: "may pass by itself",
  permanent: "will not pass by itself",
  conflict: "something else stands in the way",
};

/** The steps the app has reported, and behind them those it will come to. */
function stepsOf(operation: Operation, spec: OperationSpec | null): Step[] {
  const reported = operation.progress;
  if (operation.ended_at !== null && operation.status !== "failed") return reported;
  const ahead = (spec?.steps ?? [])
    .filter(({ name }) => !reported.some((step) => step.name === name))
    .map(({ name }): Step => ({ name, state: "pending", message: "" }));
  return [...reported, ...ahead];
}

/** What is said below of the whole operation is not said of its step too. */
function said(step: Step, { error, status }: Operation): Step {
  const twice = status !== "succeeded" && step.message === error?.message;
  return twice ? { ...step, message: "" } : step;
}

/** What people call a step: the manifest's word for it, where that is known. */
export function stepTitle(name: string, spec: OperationSpec | null): string {
  return spec?.steps?.find((step) => step.name === name)?.title || sentence(name);
}

function titleOf(step: Step | undefined, spec: OperationSpec | null): string {
  return step === undefined ? "" : stepTitle(step.name, spec);
}

const KINDS: Readonly<Record<Step["state"], StepsProps.Status>> = {
  pending: "pending",
  running: "in-progress",
  succeeded: "success",
  skipped: "success",
  failed: "error",
  undone: "stopped",
};

function drawn(step: Step, title: string, late: boolean): StepsProps.Step {
  return {
    status: late ? "warning" : KINDS[step.state],
    statusIconAriaLabel: sentence(step.state),
    header: (
      <>
        {title}
        {step.state === "skipped" && " – was so already"}
        {step.state === "undone" && " – undone"}
        {step.started_at && step.state !== "skipped" && (
          <Box variant="span" color="text-body-secondary">
            {" "}
            <Elapsed from={step.started_at} to={step.ended_at} />
          </Box>
        )}
      </>
    ),
    details: (
      <>
        {step.message && (
          <div className="wrap-anywhere">
            <Prose>{step.message}</Prose>
          </div>
        )}
        {late && <div>It takes longer than the app says it should.</div>}
      </>
    ),
  };
}

function waiting({ status, ready, waits_for }: Operation): string {
  if (status === "succeeded") return "Done, with no steps to tell of.";
  if (waits_for !== null) return "It waits for another operation to succeed first.";
  if (!ready) return "It waits for an operation of the instance that came before it.";
  if (status === "requested") return "It waits for the app's controller to take it up.";
  return "No step was reported yet.";
}
