/** Keeps a page that breaks from taking the console with it. Wraps the page inside the shell. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { Component, type ReactNode } from "react";

interface ErrorBoundaryProps {
  /** The place shown. Going to another one is a fresh start. */
  readonly place: string;
  readonly children: ReactNode;
}

interface ErrorBoundaryState {
  readonly broken: { readonly place: string; readonly error: unknown } | null;
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { broken: null };

  override componentDidCatch(error: unknown): void {
    this.setState({ broken: { place: this.props.place, error } });
  }

  static getDerivedStateFromError(): null {
    return null;
  }

  override render(): ReactNode {
    const { broken } = this.state;
    if (broken === null || broken.place !== this.props.place) return this.props.children;
    return <BrokenPage error={broken.error} />;
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

/** The chunk of a page is gone after an update, or the network was when it was asked for. */
function isMissingCode(error: unknown): boolean {
  return (
    error instanceof TypeError && /dynamically imported module|module script/i.test(error.message)
  );
}
