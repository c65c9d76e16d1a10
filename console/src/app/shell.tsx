/** The frame around every page: bars, notices, the page itself, and the way back in when the session has
 * expired. Rendered by main.tsx. It knows routes, not what is on them. */

import AppLayout from "@cloudscape-design/components/app-layout-toolbar";
import Flashbar, { type FlashbarProps } from "@cloudscape-design/components/flashbar";
import Link from "@cloudscape-design/components/link";
import SideNavigation from "@cloudscape-design/components/side-navigation";
import Spinner from "@cloudscape-design/components/spinner";
import { memo, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useStore } from "../live/store.ts";
import { ProblemDetails } from "../widgets/problem-details.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { ExpiredSession } from "./expired-session.tsx";
import { useFollowEvents } from "./follow-events.ts";
import { navigationOf, offers } from "./navigation.ts";
import { type Notice, noticeDismiss, notices } from "./notices.ts";
import { titleOf, useTitleOf } from "./page-title.ts";
import { useProject, useProjectOf, useProjects } from "./place.ts";
import { signInHref } from "./return-to.ts";
import {
  addressOf,
  HOME,
  matchRoute,
  navigate,
  type Params,
  type Route,
  trailOf,
  useLocation,
} from "./router.tsx";
import { notFound, routes } from "./routes.ts";
import { session } from "./session.ts";
import { TopBar } from "./top-bar.tsx";

const ACCOUNT = "/account";

/** Its longest line, and no more: the rest is for the page. */
const NAVIGATION_WIDTH = 232;

export function Shell() {
  const { route, params } = useRoute();
  useFollowEvents();
  useProjectOf(params);
  return <Frame alone={route.alone ?? false} />;
}

/** Drawn once for all pages: what changes with the page follows the address by itself. */
const Frame = memo(function Frame({ alone }: { readonly alone: boolean }) {
  const [open, setOpen] = useState(wide);
  return (
    <>
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <div id="top-bar">
        <TopBar />
      </div>
      <AppLayout
        headerSelector="#top-bar"
        toolsHide
        navigationHide={alone}
        navigationOpen={open}
        navigationWidth={NAVIGATION_WIDTH}
        onNavigationChange={({ detail }) => setOpen(detail.open)}
        navigation={<Navigation onFollow={() => setOpen(wide())} />}
        breadcrumbs={!alone && <Breadcrumbs />}
        notifications={<Notices />}
        stickyNotifications
        content={<Content />}
      />
      <ExpiredSession />
    </>
  );
});

function Content() {
  const { pathname } = useLocation();
  const { route, params } = useRoute();
  const content = useArrival(pathname, route.title);
  return (
    <div id="content" ref={content} tabIndex={-1}>
      <Suspense fallback={<Spinner size="large" />}>
        <ErrorBoundary key={pathname}>
          <Gate route={route} params={params} />
        </ErrorBoundary>
      </Suspense>
    </div>
  );
}

/** The page that the address names. */
function useRoute(): RouteProps {
  const { pathname } = useLocation();
  return matchRoute(routes, pathname) ?? { route: notFound, params: {} };
}

interface RouteProps {
  readonly route: Route;
  readonly params: Params;
}

/** The page, for whoever may see one: the rest is sent to sign in, and comes back. */
function Gate({ route, params }: RouteProps) {
  const current = useStore(session);
  const { kind } = current;
  const { pathname, search } = useLocation();
  // Until a second factor is set up the platform answers nothing else.
  const due = "who" in current && current.who.second_factor_due && pathname !== ACCOUNT;
  const stranger = kind === "anonymous" && !route.open;
  useEffect(() => {
    if (stranger) navigate(signInHref(pathname + search), { replace: true });
  }, [stranger, pathname, search]);
  useEffect(() => {
    if (due) navigate(ACCOUNT, { replace: true });
  }, [due]);
  if (stranger || due || (kind === "unknown" && !route.open)) return <Spinner size="large" />;
  return <route.page params={params} />;
}

function Navigation({ onFollow }: { readonly onFollow: () => void }) {
  const current = useStore(session);
  const project = useProject();
  const { loading } = useProjects();
  // Its project stands above the rest: without it nothing is shown that would move away under a pointer.
  const wait = current.kind === "signed_in" && loading;
  const who = "who" in current ? current.who : null;
  const items = useMemo(() => (wait ? [] : navigationOf(who, project)), [wait, who, project]);
  const [section = { href: HOME }] = useTrail();
  return <Links activeHref={section.href} items={items} onFollow={onFollow} />;
}

/** Drawn only when the page is of another section. */
const Links = memo(SideNavigation);

function Breadcrumbs() {
  const project = useProject();
  const current = useStore(session);
  const [section, ...inside] = useTrail();
  const items = navigationOf("who" in current ? current.who : null, project);
  // A page that is not offered to this person does not lead to where they are.
  const offered = section !== undefined && (inside.length === 0 || offers(items, section.href));
  const trail = offered ? [section, ...inside] : inside;
  const home = { text: "GPUaaS", href: HOME };
  const inProject = project !== null && trail[0]?.href.startsWith("/projects/");
  const place = inProject
    ? [{ text: project.display_name, href: `/projects/${project.id}/instances` }]
    : [];
  return <Trail steps={[home, ...place, ...trail]} />;
}

interface Step {
  readonly text: string;
  readonly href: string;
  /** The page is of one thing among others of its kind: it goes by what that is called. */
  readonly named?: boolean;
}

/** Own, because it is drawn with every page: the design system's draws itself twice, to measure itself, which took
 * a tenth of a page's time. */
function Trail({ steps }: { readonly steps: readonly Step[] }) {
  const here = steps.at(-1);
  return (
    <nav aria-label="Breadcrumbs">
      <ol className="trail">
        {steps.map((step) => (
          <li key={`${step.href} ${step.text}`}>
            {step === here ? (
              <span aria-current="page">
                <StepName step={step} />
              </span>
            ) : (
              <Link href={step.href}>
                <StepName step={step} />
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** What the page calls the thing it shows; what kind of thing it is until then. */
function StepName({ step: { text, href, named = false } }: { readonly step: Step }) {
  const title = useTitleOf(href);
  return named && title !== null ? title : text;
}

/** The pages that lead to the one that is shown, and itself; what is not in the address is in the project
 * the person works in. */
function useTrail(): readonly Step[] {
  const { route, params } = useRoute();
  const project = useProject();
  const known = { ...(project === null ? {} : { project_id: project.id }), ...params };
  return trailOf(routes, route).flatMap((one) => {
    const href = addressOf(one, known);
    return href === null ? [] : [{ text: one.title, href, named: one.within !== undefined }];
  });
}

function Notices() {
  return <Flashbar items={useStore(notices).map(flash)} />;
}

function flash(notice: Notice): FlashbarProps.MessageDefinition {
  const { id } = notice;
  const common = {
    id,
    dismissible: true,
    dismissLabel: "Dismiss",
    onDismiss: () => noticeDismiss(id),
  };
  if (notice.kind === "problem") {
    const { problem } = notice;
    return {
      ...common,
      type: "error",
      ariaRole: "alert",
      header: problem.title,
      content: <ProblemDetails problem={problem} plain />,
    };
  }
  return {
    ...common,
    type: "success",
    ariaRole: "status",
    content: (
      <>
        {notice.text}{" "}
        {notice.href !== undefined && (
          <Link href={notice.href} color="inverted">
            Follow it
          </Link>
        )}
      </>
    ),
  };
}

/** Wide enough for the navigation to stand beside the page. */
function wide(): boolean {
  return window.innerWidth >= 900;
}

/** Names the page in the title and, after the first one, moves the focus to it, so that a keyboard or a
 * screen reader goes on where the page begins. */
function useArrival(pathname: string, title: string) {
  const content = useRef<HTMLDivElement>(null);
  const shown = useRef(pathname);
  useEffect(() => {
    document.title = `${titleOf(pathname) ?? title} · GPUaaS`;
    if (shown.current === pathname) return;
    shown.current = pathname;
    content.current?.focus({ preventScroll: true });
  }, [pathname, title]);
  return content;
}
