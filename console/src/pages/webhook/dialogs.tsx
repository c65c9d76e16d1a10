/** Changes a webhook, pauses it, resumes it, gives it another secret, or ends it; and says what that means. */

import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { navigate } from "../../app/router.tsx";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { filterOf, WEBHOOK_SCHEMA } from "../../widgets/webhooks.tsx";

type Webhook = Schemas["Webhook"];
export type WebhookChange = "edit" | "pause" | "resume" | "rotate" | "delete";

interface WebhookDialogProps {
  readonly webhook: Webhook;
  readonly change: WebhookChange;
  readonly onSecret: (secret: string) => void;
  readonly onClose: () => void;
}

const TEXTS: Readonly<Record<WebhookChange, { title: string; submit: string; meaning: string }>> = {
  edit: { title: "Change the webhook", submit: "Save", meaning: "" },
  pause: {
    title: "Pause the webhook?",
    submit: "Pause",
    meaning: "Nothing is delivered until it is resumed; it then goes on where it stopped.",
  },
  resume: {
    title: "Resume the webhook?",
    submit: "Resume",
    meaning: "It goes on where it stopped, and its failures are forgotten.",
  },
  rotate: {
    title: "Rotate the secret?",
    submit: "Rotate",
    meaning: "The new one is shown once. The one before signs beside it for a day.",
  },
  delete: {
    title: "Delete the webhook?",
    submit: "Delete",
    meaning: "It and the record of its deliveries are gone. This cannot be taken back.",
  },
};

export function WebhookDialog(props: WebhookDialogProps) {
  const { webhook, change, onClose } = props;
  const { title, submit, meaning } = TEXTS[change];
  const { url, description, filter } = webhook;
  const asks = {
    schema: WEBHOOK_SCHEMA,
    initial: {
      url,
      description,
      types: filter.types ?? [],
      ...(filter.app_slug ? { app_slug: filter.app_slug } : {}),
    },
  };
  return (
    <FormDialog
      title={title}
      submitText={submit}
      {...(change === "edit" ? asks : {})}
      onClose={onClose}
      submit={async (value, key) => {
        const path = { webhook_id: webhook.id };
        const headers = { "Idempotency-Key": key };
        const update = (body: Schemas["WebhookUpdate"]) =>
          call(
            api.PATCH("/api/v1/webhooks/{webhook_id}", {
              params: { path },
              body,
              headers: { ...headers, "If-Match": `"${webhook.revision}"` },
            }),
          );
        switch (change) {
          case "edit":
            return update({
              url: String(value.url),
              description: String(value.description ?? ""),
              filter: filterOf(value),
            });
          case "pause":
            return update({ status: "disabled" });
          case "resume":
            return update({ status: "active" });
          case "rotate": {
            const made = await call(
              api.POST("/api/v1/webhooks/{webhook_id}/rotate-secret", {
                params: { path },
                headers,
              }),
            );
            return props.onSecret(made.secret);
          }
          case "delete":
            await call(api.DELETE("/api/v1/webhooks/{webhook_id}", { params: { path }, headers }));
            return navigate(home(webhook));
        }
      }}
    >
      {meaning}
    </FormDialog>
  );
}

/** The list a webhook stands in. */
function home({ org_id, project_id }: Webhook): string {
  return project_id === null
    ? `/tenants/${org_id}?tab=webhooks`
    : `/projects/${project_id}/events?tab=webhooks`;
}
