/** Letting a terminal in: somebody ran `gpuaas login`, which shows a code and waits. Whoever is signed in
 * here compares the code and decides; the terminal then acts as them. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { Schemas } from "../../api/contract.ts";
import { navigate, useLocation } from "../../app/router.tsx";
import { displayName, session } from "../../app/session.ts";
import { useSubmission } from "../../forms/use-submission.ts";
import { useStore } from "../../live/store.ts";
import { useLive } from "../../live/use-live.ts";
import { Moment } from "../../widgets/moment.tsx";
import { Loaded, Page } from "../../widgets/page.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";

type SignIn = Schemas["DeviceSignIn"];

const DAY_SECONDS = 86_400;
const ENDED: Partial<Record<SignIn["status"], string>> = {
  approved: "The terminal is let in. You can close this page.",
  redeemed: "The terminal is let in. You can close this page.",
  denied: "The terminal was refused. You can close this page.",
  expired: "The code's time is over. Run gpuaas login again.",
};

export default function DevicePage() {
  const code = new URLSearchParams(useLocation().search).get("code") ?? "";
  return (
    <Page title="Let a terminal in">
      {code === "" ? <Ask /> : <Decide key={code} code={code} />}
    </Page>
  );
}

function Ask() {
  const [typed, setTyped] = useState("");
  return (
    <Container>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const code = typed.trim();
          if (code !== "") navigate(`/device?${new URLSearchParams({ code })}`);
        }}
      >
        <SpaceBetween size="s">
          <FormField label="Code" description="The terminal shows it.">
            <Input value={typed} onChange={({ detail }) => setTyped(detail.value)} />
          </FormField>
          <Button formAction="submit">Continue</Button>
        </SpaceBetween>
      </form>
    </Container>
  );
}

function Decide({ code }: { readonly code: string }) {
  const path = { user_code: code };
  const live = useLive(`device ${code}`, (signal) =>
    call(api.GET("/api/v1/device-sign-ins/{user_code}", { params: { path }, signal })),
  );
  const [decided, setDecided] = useState<SignIn | null>(null);
  const { send, sending, problem } = useSubmission<{ approve: boolean }>(async (body, key) =>
    setDecided(
      await call(
        api.POST("/api/v1/device-sign-ins/{user_code}/decide", {
          params: { path },
          body,
          headers: { "Idempotency-Key": key },
        }),
      ),
    ),
  );
  return (
    <Loaded live={live}>
      {(read) => {
        const shown = decided ?? read;
        const ended = ENDED[shown.status];
        return (
          <Container header={<Header variant="h2">{shown.user_code}</Header>}>
            <SpaceBetween size="l">
              <Terminal shown={shown} />
              {problem !== null && <ProblemAlert problem={problem} />}
              {ended !== undefined ? (
                <Alert type={shown.status === "expired" ? "warning" : "success"}>{ended}</Alert>
              ) : (
                <Question sending={sending} decide={(approve) => void send({ approve })} />
              )}
            </SpaceBetween>
          </Container>
        );
      }}
    </Loaded>
  );
}

function Terminal({ shown }: { readonly shown: SignIn }) {
  return (
    <KeyValuePairs
      columns={4}
      items={[
        { label: "Terminal", value: shown.name },
        { label: "Asked from", value: shown.source },
        { label: "Asked", value: <Moment at={shown.created_at} /> },
        { label: "Stays signed in for", value: duration(shown.token_seconds) },
      ]}
    />
  );
}

interface QuestionProps {
  readonly sending: boolean;
  readonly decide: (approve: boolean) => void;
}

function Question({ sending, decide }: QuestionProps) {
  const current = useStore(session);
  const who = "who" in current ? displayName(current.who) : "you";
  return (
    <SpaceBetween size="s">
      <Box>
        It will act as <strong>{who}</strong>, with all you may do. Let it in only if you have just
        run <Box variant="code">gpuaas login</Box> yourself and it shows this very code. If somebody
        sent you here, refuse.
      </Box>
      <SpaceBetween size="xs" direction="horizontal">
        <Button variant="primary" loading={sending} onClick={() => decide(true)}>
          Let it in
        </Button>
        <Button disabled={sending} onClick={() => decide(false)}>
          Refuse
        </Button>
      </SpaceBetween>
    </SpaceBetween>
  );
}

function duration(seconds: number): string {
  const days = Math.round(seconds / DAY_SECONDS);
  return days < 1 ? "less than a day" : days === 1 ? "1 day" : `${days} days`;
}
