/** The frame around every page: bars, notices, the page itself, and the way back in when the session has
 * expired. Rendered by main.tsx. It knows routes, not what is on them. */

import AppLayout from "@cloudscape-design/components/app-layout-toolbar";
import BreadcrumbGroup from "@cloudscape-design/components/breadcrumb-group";
import Flashbar, { type FlashbarProps } from "@cloudscape-design/components/flashbar";
import Link from "@cloudscape-design/components/link";
import SideNavigation from "@cloudscape-design/components/side-navigation";
import Spinner from "@cloudscape-design/components/spinner";
import { Suspense, useEffect, useRef, useState } from "react";
import { useStore } from "../live/store.ts";
import { ProblemDetails } from "../widgets/problem-details.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { ExpiredSession } from "./expired-session.tsx";
import { useFollowEvents } from "./follow-events.ts";
import { navigationOf } from "./navigation.ts";
import { type Notice, noticeDismiss, notices } from "./notices.ts";
import { chooseProject, chosenProject, useProject } from "./place.ts";
import { signInHref } from "./return-to.ts";
import { HOME, matchRoute, navigate, type Params, type Route, useLocation } from "./router.tsx";
import { notFound, routes } from "./routes.ts";
import { session } from "./session.ts";
import { TopBar } from "./top-bar.tsx";

export function Shell() {
  const { pathname } = useLocation();
  const { route, params } = matchRoute(routes, pathname) ?? { route: notFound, params: {} };
  const alone = route.alone ?? false;
  const content = useArrival(pathname, route.title);
  const [open, setOpen] = useState(wide);
  useFollowEvents();
  useProjectOf(params);

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
        onNavigationChange={({ detail }) => setOpen(detail.open)}
        navigation={<Navigation pathname={pathname} onFollow={() => setOpen(wide())} />}
        breadcrumbs={!alone && <Breadcrumbs route={route} pathname={pathname} />}
        notifications={<Notices />}
        stickyNotifications
        content={
          <div id="content" ref={content} tabIndex={-1}>
            <Suspense fallback={<Spinner size="large" />}>
              <ErrorBoundary key={pathname}>
                <Gate route={route} params={params} />
              </ErrorBoundary>
            </Suspense>
          </div>
        }
      />
      <ExpiredSession />
    </>
  );
}

/** The page, for whoever may see one: the rest is sent to sign in, and comes back. */
function Gate({ route, params }: { readonly route: Route; readonly params: Params }) {
  const { kind } = useStore(session);
  const { pathname, search } = useLocation();
  const stranger = kind === "anonymous" && !route.open;
  useEffect(() => {
    if (stranger) navigate(signInHref(pathname + search), { replace: true });
  }, [stranger, pathname, search]);
  if (stranger || (kind === "unknown" && !route.open)) return <Spinner size="large" />;
  return <route.page params={params} />;
}

interface NavigationProps {
  readonly pathname: string;
  readonly onFollow: () => void;
}

function Navigation({ pathname, onFollow }: NavigationProps) {
  const current = useStore(session);
  const project = useProject();
  const items = navigationOf("who" in current ? current.who : null, project);
  return <SideNavigation activeHref={section(pathname)} items={items} onFollow={onFollow} />;
}

/** The page of the navigation that an address belongs to. */
function section(pathname: string): string {
  const [first, second, third] = pathname.split("/").filter((part) => part !== "");
  if (first === "projects" && third !== undefined) return `/projects/${second}/${third}`;
  if (first === "admin" && second === "nodes") return "/admin/capacity";
  if (first === "artifact-sources") return "/artifacts";
  if (first === "admin") return `/admin/${second}`;
  return `/${first ?? ""}`;
}

function Breadcrumbs({ route, pathname }: { readonly route: Route; readonly pathname: string }) {
  const project = useProject();
  const trail = [{ text: "GPUaaS", href: HOME }];
  if (project !== null && pathname.startsWith("/projects/")) {
    trail.push({ text: project.display_name, href: `/projects/${project.id}/instances` });
  }
  return <BreadcrumbGroup items={[...trail, { text: route.title, href: pathname }]} />;
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
      content: <ProblemDetails problem={problem} />,
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

/** A link into another project moves the person there. */
function useProjectOf({ project_id }: Params): void {
  useEffect(() => {
    if (project_id !== undefined && chosenProject.get() !== project_id) chooseProject(project_id);
  }, [project_id]);
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
    document.title = `${title} · GPUaaS`;
    if (shown.current === pathname) return;
    shown.current = pathname;
    content.current?.focus({ preventScroll: true });
  }, [pathname, title]);
  return content;
}
