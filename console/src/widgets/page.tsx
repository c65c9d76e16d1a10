/** The frame of a page: its heading, its problem, its content. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { type ReactNode, useEffect } from "react";
import type { Live } from "../live/use-live.ts";
import { ProblemAlert } from "./problem-alert.tsx";

interface PageProps {
  readonly title: string;
  readonly info?: ReactNode;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, info, description, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · GPUaaS`;
  }, [title]);
  return (
    <ContentLayout
      header={
        <Header variant="h1" description={description} actions={actions} info={info}>
          {title}
        </Header>
      }
    >
      <SpaceBetween size="l">{children}</SpaceBetween>
    </ContentLayout>
  );
}

interface LoadedProps<T> {
  readonly live: Live<T>;
  readonly children: (value: T) => ReactNode;
}

/** What was read, once it was; the problem in its place when it could not be, above it when it is old. */
export function Loaded<T>({ live, children }: LoadedProps<T>) {
  return (
    <>
      <ReadProblem live={live} />
      {live.value !== null && children(live.value)}
      {live.loading && (
        <Box textAlign="center" padding="xl">
          <Spinner size="large" />
        </Box>
      )}
    </>
  );
}

export function ReadProblem({
  live,
}: {
  readonly live: Pick<Live<unknown>, "problem" | "readNow">;
}) {
  if (live.problem === null) return null;
  return (
    <ProblemAlert
      problem={live.problem}
      action={<Button onClick={live.readNow}>Read again</Button>}
    />
  );
}
