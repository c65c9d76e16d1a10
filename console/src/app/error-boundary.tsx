/** Keeps a page that breaks from taking the console with it. Wraps the page inside the shell. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { Component, type ReactNode } from "react";

interface ErrorBoundaryProps {
  readonly children: ReactNode;
}

interface ErrorBoundaryState {
  readonly failure: { readonly error: unknown } | null;
}

/** Give it the place as its key: going to another one is a fresh start. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { failure: null };

  static getDerivedStateFromError(error: unknown): ErrorBoundaryState {
    return { failure: { error } };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    return failure === null ? this.props.children : <BrokenPage error={failure.error} />;
  }
}

function BrokenPage({ error }: { readonly error: unknown }) {
  const missingCode = isMissingCode(error);
  return (
    <div role="alert">
      <Alert
        type={missingCode ? "info" : "error"}
        header={missingCode ? "This page could not be loaded" : "This page has failed"}
        action={<Button onClick={() => window.location.reload()}>Reload</Button>}
      >
        <SpaceBetween size="xs">
          <div>
            {missingCode
              ? "The platform may have been updated, or the connection was lost. Reloading gets the current version."
              : "The rest of the console still works. Nothing was sent to the platform by this failure."}
          </div>
          {!missingCode && <Box variant="code">{String(error)}</Box>}
        </SpaceBetween>
      </Alert>
    </div>
  );
}

/** The chunk of a page, or its style sheet, is gone after an update, or the network was when it was asked
 * for. */
function isMissingCode(error: unknown): boolean {
  return (
    error instanceof Error &&
    /dynamically imported module|module script|preload CSS/i.test(error.message)
  );
}
