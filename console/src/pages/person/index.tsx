/** A person, as those see them who manage their account: what they are signed in with, and how. */

import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import type { PageProps } from "../../app/router.tsx";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { useLive } from "../../live/use-live.ts";
import { Copy } from "../../widgets/copy.tsx";
import { Sessions, SignInFailures, TokenNames, Tokens } from "../../widgets/credentials.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";

type User = Schemas["User"];

export default function PersonPage({ params }: PageProps) {
  const userId = params.user_id ?? "";
  const user = useLive(`user:${userId}`, (signal) =>
    call(api.GET("/api/v1/users/{user_id}", { params: { path: { user_id: userId } }, signal })),
  );
  return (
    <Page title={user.value?.display_name ?? "Person"}>
      <Loaded live={user}>{(one) => <Person user={one} />}</Loaded>
    </Page>
  );
}

function Person({ user }: { readonly user: User }) {
  const manages = useCan()("identity.user.manage", { org_id: user.org_id, project_id: null });
  return (
    <>
      <Facts user={user} manages={manages} />
      <SignInFailures userId={user.id} />
      <Sessions userId={user.id} manages={manages} />
      <Tokens userId={user.id} manages={manages} />
    </>
  );
}

interface FactsProps {
  readonly user: User;
  readonly manages: boolean;
}

function Facts({ user, manages }: FactsProps) {
  const [asking, setAsking] = useState<"password" | "factors" | null>(null);
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={
            manages && (
              <SpaceBetween size="xs" direction="horizontal">
                <Button onClick={() => setAsking("factors")}>Remove second factors</Button>
                <Button onClick={() => setAsking("password")}>Reset the password</Button>
              </SpaceBetween>
            )
          }
        >
          {user.email}
        </Header>
      }
    >
      <KeyValuePairs
        columns={3}
        items={[
          { label: "Let in", value: user.active ? "Yes" : "Shut out" },
          { label: "Last signed in", value: <Moment at={user.last_sign_in_at} /> },
          { label: "Id", value: <Copy text={user.id} what="the id" /> },
        ]}
      />
      {asking === "password" && <ResetPassword user={user} onClose={() => setAsking(null)} />}
      {asking === "factors" && (
        <FormDialog
          title={`Remove the second factors of ${user.email}?`}
          submitText="Remove them"
          onClose={() => setAsking(null)}
          submit={(_, key) =>
            call(
              api.DELETE("/api/v1/users/{user_id}/second-factors", {
                params: { path: { user_id: user.id } },
                headers: { "Idempotency-Key": key },
              }),
            )
          }
        >
          For a person who lost theirs: be sure that it is they who ask. Their recovery codes go
          too, and all their sessions and tokens end.
        </FormDialog>
      )}
    </Container>
  );
}

interface ResetProps {
  readonly user: User;
  readonly onClose: () => void;
}

function ResetPassword({ user, onClose }: ResetProps) {
  return (
    <FormDialog
      title={`Reset the password of ${user.email}?`}
      submitText="Reset it"
      schema={objectOf(
        {
          password: {
            title: "New password",
            type: "string",
            minLength: 12,
            maxLength: 256,
            "x-widget": "password",
          },
        },
        "password",
      )}
      onClose={onClose}
      submit={({ password }, key) =>
        call(
          api.PUT("/api/v1/users/{user_id}/password", {
            params: { path: { user_id: user.id } },
            body: { password: String(password) },
            headers: { "Idempotency-Key": key },
          }),
        )
      }
    >
      <SpaceBetween size="s">
        <div>All their sessions and tokens end at once.</div>
        <TokenNames userId={user.id} />
      </SpaceBetween>
    </FormDialog>
  );
}
