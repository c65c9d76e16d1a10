/** Asks to sign in again over the page that is open, which stays as it is. Part of the shell. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useStore } from "../live/store.ts";
import { SignInForm } from "../widgets/sign-in-form.tsx";
import { signInHref } from "./return-to.ts";
import { navigate } from "./router.tsx";
import { session, sessionLeave } from "./session.ts";

export function ExpiredSession() {
  const current = useStore(session);
  if (current.kind !== "expired") return null;
  return (
    <Modal
      visible
      header="Your session has ended"
      onDismiss={({ detail }) => {
        // A slip beside it, or of a key, drops nothing.
        if (detail.reason === "closeButton") leave();
      }}
      footer={
        <Box float="right">
          <Button variant="link" onClick={leave}>
            Leave this page
          </Button>
        </Box>
      }
    >
      <SpaceBetween size="l">
        <div>Sign in again to go on. Nothing on this page is lost.</div>
        <SignInForm
          returnTo={window.location.pathname + window.location.search}
          email={current.who.email ?? ""}
          keepPage
        />
      </SpaceBetween>
    </Modal>
  );
}

function leave(): void {
  const { pathname, search } = window.location;
  sessionLeave();
  navigate(signInHref(pathname + search));
}
