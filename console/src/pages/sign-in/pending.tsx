/** A sign-in at a provider that waits for the person: which account, and its password before it is linked. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { type SubmitEvent, useEffect, useState } from "react";
import { api, asProblem, call } from "../../api/client.ts";
import type { Schemas, SignInAccount } from "../../api/contract.ts";
import type { Problem } from "../../api/problem.ts";
import { signInComplete } from "../../app/session.ts";
import { AccountChoice, accountName } from "../../widgets/account-choice.tsx";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";

type Pending = Schemas["PendingSignIn"];

export function PendingSignIn() {
  const [pending, setPending] = useState<Pending | null>(null);
  const [chosen, setChosen] = useState<SignInAccount | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [sending, setSending] = useState(false);

  useEffect(() => {
    let gone = false;
    call(api.GET("/api/v1/auth/oidc/pending")).then(
      (found) => {
        if (gone) return;
        setPending(found);
        const [only, ...more] = found.accounts;
        if (only !== undefined && more.length === 0) setChosen(only);
      },
      (thrown: unknown) => {
        if (!gone) setProblem(asProblem(thrown));
      },
    );
    return () => {
      gone = true;
    };
  }, []);

  async function complete(body: Schemas["PendingSignInComplete"]): Promise<void> {
    if (sending) return;
    setSending(true);
    setProblem(null);
    try {
      await signInComplete(body);
    } catch (thrown) {
      setProblem(asProblem(thrown));
    } finally {
      setSending(false);
    }
  }

  function choose(account: SignInAccount): void {
    setProblem(null);
    if (account.needs_password) setChosen(account);
    else void complete({ user_id: account.user_id });
  }

  return (
    <SpaceBetween size="l">
      {problem !== null && <ProblemAlert problem={problem} />}
      {pending === null && problem === null && <Spinner size="large" />}
      {pending !== null && chosen === null && (
        <AccountChoice accounts={pending.accounts} sending={sending} onChoose={choose} />
      )}
      {pending !== null && chosen !== null && (
        <Confirm pending={pending} account={chosen} sending={sending} complete={complete} />
      )}
      <Link href="/sign-in">Sign in another way</Link>
    </SpaceBetween>
  );
}

interface ConfirmProps {
  readonly pending: Pending;
  readonly account: SignInAccount;
  readonly sending: boolean;
  readonly complete: (body: Schemas["PendingSignInComplete"]) => Promise<void>;
}

/** The account's password, once; or its end, for a person who never knew it. */
function Confirm({ pending, account, sending, complete }: ConfirmProps) {
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const userId = account.user_id;

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    setTried(true);
    if (password === "") return;
    await complete({ user_id: userId, password });
    setPassword("");
    setTried(false);
  }

  if (!account.needs_password) {
    return (
      <Button
        variant="primary"
        fullWidth
        loading={sending}
        onClick={() => void complete({ user_id: userId })}
      >
        Sign in to {accountName(account)}
      </Button>
    );
  }
  return (
    <form onSubmit={submit} noValidate>
      <SpaceBetween size="l">
        <Box>
          Your account of {accountName(account)} has a password. Enter it once, and{" "}
          {pending.provider_name} is enough from then on.
        </Box>
        <FormField
          label="Password"
          errorText={tried && password === "" ? "Enter the account's password." : null}
          stretch
        >
          <Input
            type="password"
            name="password"
            autoComplete="current-password"
            autoFocus
            value={password}
            onChange={({ detail }) => setPassword(detail.value)}
          />
        </FormField>
        <Button variant="primary" formAction="submit" loading={sending} fullWidth>
          Link and sign in
        </Button>
        <Box color="text-body-secondary">
          If you do not know it, another person may. Remove the password: every session and token of
          the account ends.
        </Box>
        <Button
          formAction="none"
          disabled={sending}
          fullWidth
          onClick={() => void complete({ user_id: userId, remove_password: true })}
        >
          Remove the password and sign in
        </Button>
      </SpaceBetween>
    </form>
  );
}
