/** The ways out of a failure, as buttons. The platform names them; nobody is left with none. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../api/client.ts";
import type { NextAction, Permission, Schemas } from "../api/contract.ts";
import { useCan } from "../app/access.ts";
import { noticeDone } from "../app/notices.ts";
import { FormDialog } from "../forms/form-dialog.tsx";
import { objectOf, REASON } from "../forms/own-schemas.ts";
import { JsonView } from "./json-view.tsx";

type Way = Exclude<NextAction["action"], "start_controller">;

interface WaysOutProps {
  readonly actions: readonly NextAction[];
  readonly instance: { readonly id: string; readonly org_id: string; readonly project_id: string };
  /** What the app has stated of what is left, for whoever thinks of abandoning; undefined until that was read. */
  readonly absence: Schemas["Absence"] | null | undefined;
  /** Opens the app's own dialog for taking the instance down; without it the platform's is used. */
  readonly onDelete?: () => void;
}

export function WaysOut({ actions, instance, absence, onDelete }: WaysOutProps) {
  const can = useCan();
  const [open, setOpen] = useState<NextAction | null>(null);
  const offered = actions.filter(
    ({ action }) => action !== "start_controller" && can(NEEDS[action], instance),
  );
  const controllerAbsent = actions.find(({ action }) => action === "start_controller");
  if (offered.length === 0 && controllerAbsent === undefined) return null;
  return (
    <SpaceBetween size="s">
      {controllerAbsent !== undefined && (
        <Alert type="warning" header="No controller of this app is at work">
          {controllerAbsent.reason} What was asked for waits, and is taken up when one is started.
        </Alert>
      )}
      <SpaceBetween size="xs" direction="horizontal">
        {offered.map((action) => (
          <Button
            key={`${action.action}:${action.operation_id}:${action.member_id}`}
            onClick={() =>
              action.action === "delete" && onDelete !== undefined ? onDelete() : setOpen(action)
            }
          >
            {LABELS[action.action as Way]}
          </Button>
        ))}
      </SpaceBetween>
      {open !== null && (
        <WayDialog
          next={open}
          instanceId={instance.id}
          absence={absence}
          onClose={() => setOpen(null)}
        />
      )}
    </SpaceBetween>
  );
}

const LABELS: Readonly<Record<Way, string>> = {
  retry: "Retry",
  cancel: "Cancel operation",
  reconcile: "Reconcile",
  abandon: "Abandon",
  delete: "Decommission",
};

const NEEDS: Readonly<Record<NextAction["action"], Permission>> = {
  retry: "apps.operation.retry",
  cancel: "apps.operation.cancel",
  reconcile: "apps.operation.create",
  abandon: "apps.operation.abandon",
  delete: "apps.instance.delete",
  start_controller: "apps.instance.read",
};

const MEANINGS: Readonly<Record<Way, string>> = {
  retry: "The same operation runs again, as a new attempt. Steps that hold already are skipped.",
  cancel: "The app stops at its next safe point and undoes what can be undone.",
  reconcile: "The app looks at every machine and brings what drifted back to what is wanted.",
  abandon:
    "The last resort: the operation is given up as it is. Machines that are not verified clean stay set aside and visible until the app states that nothing is left on them.",
  delete: "The app takes down what is left and states what it found.",
};

interface WayDialogProps {
  readonly next: NextAction;
  readonly instanceId: string;
  readonly absence: WaysOutProps["absence"];
  readonly onClose: () => void;
}

function WayDialog({ next, instanceId, absence, onClose }: WayDialogProps) {
  const way = next.action as Way;
  const abandons = way === "abandon";
  return (
    <FormDialog
      title={`${LABELS[way]}?`}
      submitText={LABELS[way]}
      onClose={onClose}
      {...(abandons ? { schema: objectOf({ reason: REASON }, "reason") } : {})}
      submit={async ({ reason }, key) => {
        await perform(next, { instanceId, reason: String(reason ?? ""), key });
        noticeDone(`Asked for: ${LABELS[way]}.`);
      }}
    >
      <div>{MEANINGS[way]}</div>
      {next.reason && <Box color="text-body-secondary">{next.reason}</Box>}
      {abandons && <Evidence absence={absence} />}
    </FormDialog>
  );
}

function Evidence({ absence }: Pick<WaysOutProps, "absence">) {
  if (absence === undefined) {
    return (
      <Alert type="warning" header="The evidence was not read yet">
        What the app has stated of what is left is not known here.
      </Alert>
    );
  }
  if (absence === null) {
    return (
      <Alert type="warning" header="There is no evidence">
        The app has not stated that nothing of it is left.
      </Alert>
    );
  }
  return (
    <Alert
      type={absence.runtime_verified_absent ? "success" : "warning"}
      header={
        absence.runtime_verified_absent
          ? "The app states that nothing of it is left"
          : "The app found something left, or could not look"
      }
    >
      <JsonView value={absence.evidence} name="evidence" />
    </Alert>
  );
}

interface Asked {
  readonly instanceId: string;
  readonly reason: string;
  readonly key: string;
}

async function perform(next: NextAction, { instanceId, reason, key }: Asked): Promise<void> {
  const headers = { "Idempotency-Key": key };
  const operation = { params: { path: { operation_id: next.operation_id ?? "" } }, headers };
  const instance = { params: { path: { instance_id: instanceId } }, headers };
  switch (next.action) {
    case "retry":
      await call(api.POST("/api/v1/operations/{operation_id}/retry", operation));
      return;
    case "cancel":
      await call(api.POST("/api/v1/operations/{operation_id}/cancel", operation));
      return;
    case "abandon":
      await call(
        api.POST("/api/v1/operations/{operation_id}/abandon", { ...operation, body: { reason } }),
      );
      return;
    case "reconcile":
      await call(api.POST("/api/v1/app-instances/{instance_id}/reconcile", instance));
      return;
    default:
      await call(api.DELETE("/api/v1/app-instances/{instance_id}", instance));
  }
}
