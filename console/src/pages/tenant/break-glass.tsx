/** A platform administrator's visit to a tenant: with a reason, for a while, in the audit. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import { pageQuery } from "../../api/pages.ts";
import { sessionRead } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useLive } from "../../live/use-live.ts";
import { Moment } from "../../widgets/moment.tsx";

export function BreakGlass({ orgId }: { readonly orgId: string }) {
  const [opening, setOpening] = useState(false);
  const visits = useLive(
    "break-glass",
    (signal) =>
      call(api.GET("/api/v1/admin/break-glass", { params: { query: pageQuery(null) }, signal })),
    { on: ({ type }) => type.startsWith("identity.break_glass") },
  );
  const open = (visits.value?.items ?? []).filter(
    ({ org_id, expires_at }) => org_id === orgId && Date.parse(expires_at) > Date.now(),
  );
  async function close(id: string): Promise<void> {
    await call(
      api.DELETE("/api/v1/admin/break-glass/{binding_id}", {
        params: { path: { binding_id: id } },
      }),
    );
    await sessionRead();
    visits.readNow();
  }
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Platform administrators do not act inside tenants. When they must, the tenant sees that they did, and why."
          actions={<Button onClick={() => setOpening(true)}>Open this tenant</Button>}
        >
          Break glass
        </Header>
      }
    >
      <SpaceBetween size="s">
        {open.length === 0 && <div>Nobody is in this tenant by breaking the glass.</div>}
        {open.map(({ id, user_id, reason, expires_at }) => (
          <Alert
            key={id}
            type="warning"
            header={user_id}
            action={<Button onClick={() => void close(id)}>End it</Button>}
          >
            {reason}. Ends <Moment at={expires_at} />.
          </Alert>
        ))}
      </SpaceBetween>
      {opening && (
        <FormDialog
          title="Open this tenant for yourself"
          submitText="Open it"
          schema={objectOf(
            {
              reason: {
                title: "Reason",
                type: "string",
                minLength: 10,
                maxLength: 500,
                "x-widget": "textarea",
                "x-help": "The tenant reads it in its audit.",
              },
              minutes: {
                title: "For how many minutes",
                type: "integer",
                minimum: 1,
                maximum: 240,
                default: 60,
              },
            },
            "reason",
          )}
          onClose={() => setOpening(false)}
          submit={async ({ reason, minutes }, key) => {
            await call(
              api.POST("/api/v1/admin/break-glass", {
                body: {
                  org_id: orgId,
                  reason: String(reason),
                  duration_seconds: Number(minutes ?? 60) * 60,
                },
                headers: { "Idempotency-Key": key },
              }),
            );
            await sessionRead();
          }}
        />
      )}
    </Container>
  );
}
