/** The frame of a page: its heading, its problem, its content. */

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import ContentLayout from "@cloudscape-design/components/content-layout";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { type ReactNode, useContext, useDeferredValue, useEffect } from "react";
import { useTellTitle } from "../app/page-title.ts";
import { useLocation } from "../app/router.tsx";
import { DrawingContext, useDrawing, waitAhead } from "../live/ahead.ts";
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
  return (
    <Drawn>
      <Titled title={title} />
      <ContentLayout
        header={
          <Header variant="h1" description={description} actions={actions} info={info}>
            {title}
          </Header>
        }
      >
        <SpaceBetween size="l">{children}</SpaceBetween>
      </ContentLayout>
    </Drawn>
  );
}

/** Says what the page is called to whoever stands around it. Apart, so that an address that changes behind the
 * question mark draws nothing else. */
function Titled({ title }: { readonly title: string }) {
  const { pathname } = useLocation();
  useTellTitle(pathname, title);
  useEffect(() => {
    document.title = `${title} · GPUaaS`;
  }, [title]);
  return null;
}

/** What is below the first screen: drawn right behind it, once what it reads is there. */
export function Later({ children }: { readonly children: ReactNode }) {
  return useDeferredValue<boolean>(true, false) && <Drawn later>{children}</Drawn>;
}

interface DrawnProps {
  readonly later?: boolean;
  readonly children: ReactNode;
}

/** Waits, before it is shown, for what was read around it, and then for what is read in it. */
function Drawn({ later = false, children }: DrawnProps) {
  const drawing = useDrawing(later);
  waitAhead(drawing);
  return (
    <DrawingContext value={drawing}>
      {children}
      <Awaited />
    </DrawingContext>
  );
}

/** Stands last: when it is its turn, all that is read at first has begun. */
function Awaited() {
  waitAhead(useContext(DrawingContext));
  return null;
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
      {live.loading && <Reading />}
    </>
  );
}

/** In the place of what is being read. */
export function Reading() {
  return (
    <Box textAlign="center" padding="xl">
      <Spinner size="large" />
    </Box>
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
