/** The sign-in page. Whoever is signed in already, or has just signed in, is sent on to where they
 * wanted to go. */

import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useEffect } from "react";
import { returnTo } from "../../app/return-to.ts";
import { navigate, useLocation } from "../../app/router.tsx";
import { session } from "../../app/session.ts";
import { useStore } from "../../live/store.ts";
import { ProblemAlert } from "../../widgets/problem-alert.tsx";
import { SignInForm } from "../../widgets/sign-in-form.tsx";
import { PendingSignIn } from "./pending.tsx";
import { refusalOf } from "./refused.ts";

export default function SignInPage() {
  const { search } = useLocation();
  const target = returnTo(search);
  const refused = refusalOf(search);
  const query = new URLSearchParams(search);
  const signedIn = useStore(session).kind === "signed_in";

  useEffect(() => {
    if (signedIn) navigate(target, { replace: true });
  }, [signedIn, target]);

  return (
    <div className="narrow-page">
      <Container header={<Header variant="h1">Sign in to GPUaaS</Header>}>
        <SpaceBetween size="l">
          {refused !== null && <ProblemAlert problem={refused} />}
          {query.has("choose") ? (
            <PendingSignIn />
          ) : (
            <SignInForm returnTo={target} provider={query.get("provider")} />
          )}
        </SpaceBetween>
      </Container>
    </div>
  );
}
