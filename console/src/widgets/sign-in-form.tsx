/** Signing in: with a password where the platform has local users, with the organisation's provider
 * where it has one. Shown on the sign-in page, and over any page whose session has expired. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { type SubmitEvent, useEffect, useState } from "react";
import { api, asProblem, call } from "../api/client.ts";
import type { AuthMethods, SignInAccount } from "../api/contract.ts";
import type { Problem } from "../api/problem.ts";
import { passkeysPossible } from "../app/passkeys.ts";
import { signIn, signInWithPasskey } from "../app/session.ts";
import { backoffDelay } from "../live/backoff.ts";
import { AccountChoice } from "./account-choice.tsx";
import { ProblemAlert } from "./problem-alert.tsx";

interface SignInFormProps {
  /** Where the provider sends the browser back to. */
  readonly returnTo: string;
  readonly email?: string;
  /** The provider opens in a tab of its own, so that this page keeps what is on it. */
  readonly keepPage?: boolean;
  /** A tenant's own provider, which its people have a link to; the operator's without one. */
  readonly provider?: string | null;
}

export function SignInForm({
  returnTo,
  email = "",
  keepPage = false,
  provider = null,
}: SignInFormProps) {
  const { methods, problem, read } = useAuthMethods(provider);
  if (problem !== null) {
    return <ProblemAlert problem={problem} action={<Button onClick={read}>Try again</Button>} />;
  }
  if (methods === null) return <Spinner size="large" />;
  if (!methods.local && !methods.oidc) {
    return <Alert type="warning">This platform has no way to sign in switched on.</Alert>;
  }
  return (
    <SpaceBetween size="l">
      {methods.oidc && (
        <Button
          href={startUrl(methods.oidc.start_url, returnTo)}
          {...(keepPage ? { target: "_blank" } : {})}
          variant={methods.local ? "normal" : "primary"}
          fullWidth
        >
          Sign in with {methods.oidc.name || "your organisation"}
        </Button>
      )}
      {methods.oidc && methods.local && (
        <Box textAlign="center" color="text-body-secondary">
          or
        </Box>
      )}
      {methods.local && <PasswordForm initialEmail={email} />}
    </SpaceBetween>
  );
}

/** Asked until it is answered: without it nobody can sign in, and connections are lost and come back. */
function useAuthMethods(provider: string | null) {
  const [methods, setMethods] = useState<AuthMethods | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [tries, setTries] = useState(1);

  useEffect(() => {
    let gone = false;
    let next: ReturnType<typeof setTimeout> | undefined;
    const query = provider === null ? {} : { provider };
    call(api.GET("/api/v1/auth/methods", { params: { query } })).then(
      (found) => {
        if (gone) return;
        setProblem(null);
        setMethods(found);
      },
      (thrown: unknown) => {
        if (gone) return;
        setProblem(asProblem(thrown));
        next = setTimeout(() => setTries(tries + 1), backoffDelay(tries));
      },
    );
    return () => {
      gone = true;
      clearTimeout(next);
    };
  }, [tries, provider]);
  return { methods, problem, read: () => setTries(tries + 1) };
}

function startUrl(path: string, returnTo: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ return_to: returnTo })}`;
}

function PasswordForm({ initialEmail }: { readonly initialEmail: string }) {
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  /** The kinds of second factors the account has, once the platform has asked for one. */
  const [kinds, setKinds] = useState<readonly string[] | null>(null);
  const [sending, setSending] = useState(false);
  const [tried, setTried] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [waitSeconds, setWaitSeconds] = useCountdown();
  const [chosen, setChosen] = useState<{ user_id?: string }>({});
  const [offered, setOffered] = useState<readonly SignInAccount[]>([]);

  const typed = email.trim() !== "" && password !== "";
  const codeAsked = kinds !== null;
  const codeTyped = !codeAsked || code.trim().length >= CODE_MIN;

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    setTried(true);
    if (!typed || !codeTyped || waitSeconds > 0) return;
    const second = codeAsked ? { code: code.trim() } : {};
    await send(() => signIn(email.trim(), password, { ...chosen, ...second }));
  }

  async function send(sign: () => Promise<readonly SignInAccount[]>): Promise<void> {
    if (sending) return;
    setSending(true);
    setProblem(null);
    try {
      setOffered(await sign());
    } catch (thrown) {
      refuse(asProblem(thrown));
    } finally {
      setSending(false);
    }
  }

  function choose(user_id: string): void {
    setChosen({ user_id });
    void send(() => signIn(email.trim(), password, { user_id }));
  }

  function refuse(refused: Problem): void {
    setOffered([]);
    setTried(false);
    setCode("");
    if (refused.code === "second_factor_needed") {
      setKinds(String(refused.context.kinds ?? "totp").split(" "));
      return;
    }
    setProblem(refused);
    // A wrong code is typed again; after a wrong password both are.
    if (!codeAsked) {
      setPassword("");
      setChosen({});
    }
    setWaitSeconds(refused.retryAfterSeconds ?? 0);
  }

  if (offered.length > 0) {
    return (
      <AccountChoice
        accounts={offered}
        sending={sending}
        onChoose={({ user_id }) => choose(user_id)}
        onBack={() => {
          setOffered([]);
          setPassword("");
          setTried(false);
        }}
      />
    );
  }
  return (
    <form onSubmit={submit} noValidate>
      <SpaceBetween size="l">
        {problem !== null && <ProblemAlert problem={problem} />}
        <FormField
          label="Email"
          errorText={tried && email.trim() === "" ? "Enter your email address." : null}
          stretch
        >
          <Input
            type="email"
            name="email"
            autoComplete="username"
            autoFocus={initialEmail === ""}
            value={email}
            onChange={({ detail }) => setEmail(detail.value)}
          />
        </FormField>
        <FormField
          label="Password"
          errorText={tried && password === "" ? "Enter your password." : null}
          stretch
        >
          <Input
            type="password"
            name="password"
            autoComplete="current-password"
            autoFocus={initialEmail !== ""}
            value={password}
            onChange={({ detail }) => setPassword(detail.value)}
          />
        </FormField>
        {kinds?.includes("passkey") && passkeysPossible() && (
          <Button
            formAction="none"
            disabled={sending}
            fullWidth
            onClick={() => void send(() => signInWithPasskey(email.trim(), password, chosen))}
          >
            Use a passkey
          </Button>
        )}
        {codeAsked && (
          <FormField
            label="Code"
            description={
              kinds.includes("totp")
                ? "Of your authenticator app, or one of your recovery codes."
                : "One of your recovery codes."
            }
            errorText={tried && !codeTyped ? "Enter the code." : null}
            stretch
          >
            <Input
              name="code"
              inputMode="text"
              autoComplete="one-time-code"
              autoFocus
              value={code}
              onChange={({ detail }) => setCode(detail.value)}
            />
          </FormField>
        )}
        <Button
          variant="primary"
          formAction="submit"
          loading={sending}
          loadingText="Signing in"
          disabled={waitSeconds > 0}
          fullWidth
        >
          {waitSeconds > 0 ? `Try again in ${waitSeconds} s` : "Sign in"}
        </Button>
      </SpaceBetween>
    </form>
  );
}

const CODE_MIN = 6;

/** A number that counts itself down to zero, once a second. */
function useCountdown() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (seconds <= 0) return;
    const timer = setTimeout(() => setSeconds(seconds - 1), 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return [seconds, setSeconds] as const;
}
