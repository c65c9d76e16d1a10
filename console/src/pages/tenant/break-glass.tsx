/** A platform administrator's visit to a tenant: with a reason, for a while, in the audit. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { EVERY_PAGE, pageQuery, readPages } from "../../api/pages.ts";
import { useCan } from "../../app/access.ts";
import { session, sessionRead } from "../../app/session.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useStore } from "../../live/store.ts";
import { type Live, useLive } from "../../live/use-live.ts";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded } from "../../widgets/page.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { Thing } from "../../widgets/thing.tsx";

type Visit = Schemas["BreakGlass"];

export function BreakGlass({ orgId }: { readonly orgId: string }) {
  const [opening, setOpening] = useState(false);
  const [ending, setEnding] = useState<Visit | null>(null);
  const visits = useVisits(orgId);
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
      <Loaded live={visits}>
        {(all) => {
          const open = all.filter(({ expires_at }) => Date.parse(expires_at) > Date.now());
          if (open.length === 0) return <div>Nobody is in this tenant by breaking the glass.</div>;
          return (
            <SpaceBetween size="s">
              {open.map((visit) => (
                <Visiting key={visit.id} visit={visit} onEnd={() => setEnding(visit)} />
              ))}
            </SpaceBetween>
          );
        }}
      </Loaded>
      {opening && <OpenDialog orgId={orgId} onClose={() => setOpening(false)} />}
      {ending !== null && <EndDialog visit={ending} onClose={() => setEnding(null)} />}
    </Container>
  );
}

/** Who is in this tenant now. The platform lists the visits of all tenants together. */
function useVisits(orgId: string): Live<readonly Visit[]> {
  return useLive(
    `break-glass:${orgId}`,
    async (signal) => {
      const { items } = await readPages(
        (cursor) =>
          call(
            api.GET("/api/v1/admin/break-glass", { params: { query: pageQuery(cursor) }, signal }),
          ),
        EVERY_PAGE,
        signal,
      );
      return items.filter(({ org_id }) => org_id === orgId);
    },
    { on: ({ type }) => type.startsWith("identity.break_glass") },
  );
}

interface VisitingProps {
  readonly visit: Visit;
  readonly onEnd: () => void;
}

function Visiting({ visit, onEnd }: VisitingProps) {
  const { org_id, user_id, reason, expires_at } = visit;
  const current = useStore(session);
  const own = "who" in current && current.who.id === user_id;
  const ends = useCan()("identity.binding.manage", { org_id, project_id: null }) || own;
  return (
    <Alert
      type="warning"
      header={<Thing id={user_id} />}
      action={ends && <Button onClick={onEnd}>End it</Button>}
    >
      <Prose>{reason}</Prose>
      <div>
        Ends <Moment at={expires_at} />.
      </div>
    </Alert>
  );
}

interface EndDialogProps {
  readonly visit: Visit;
  readonly onClose: () => void;
}

function EndDialog({ visit, onClose }: EndDialogProps) {
  return (
    <FormDialog
      title="End this visit?"
      submitText="End it"
      onClose={onClose}
      submit={async (_, key) => {
        await call(
          api.DELETE("/api/v1/admin/break-glass/{binding_id}", {
            params: { path: { binding_id: visit.id } },
            headers: { "Idempotency-Key": key },
          }),
        );
        await sessionRead();
      }}
    >
      <div>
        <Thing id={visit.user_id} /> can do nothing inside this tenant any more, from this moment
        on. What was done stays, and stays in the tenant's audit.
      </div>
    </FormDialog>
  );
}

interface OpenDialogProps {
  readonly orgId: string;
  readonly onClose: () => void;
}

function OpenDialog({ orgId, onClose }: OpenDialogProps) {
  return (
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
      onClose={onClose}
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
  );
}
