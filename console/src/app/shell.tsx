/** The frame around every page: bars, notices, the page itself, and the way back in when the session has
 * expired. Rendered by main.tsx. It knows routes, not what is on them. */

import AppLayout from "@cloudscape-design/components/app-layout-toolbar";
import BreadcrumbGroup from "@cloudscape-design/components/breadcrumb-group";
import Flashbar from "@cloudscape-design/components/flashbar";
import SideNavigation from "@cloudscape-design/components/side-navigation";
import Spinner from "@cloudscape-design/components/spinner";
import { Suspense, useEffect, useRef } from "react";
import { useStore } from "../live/store.ts";
import { ProblemDetails } from "../widgets/problem-details.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { ExpiredSession } from "./expired-session.tsx";
import { noticeDismiss, notices } from "./notices.ts";
import { HOME, matchRoute, useLocation } from "./router.tsx";
import { navigation, notFound, routes } from "./routes.ts";
import { TopBar } from "./top-bar.tsx";

export function Shell() {
  const { pathname } = useLocation();
  const { route, params } = matchRoute(routes, pathname) ?? { route: notFound, params: {} };
  const alone = route.alone ?? false;
  const content = useArrival(pathname, route.title);

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
        navigation={<SideNavigation activeHref={route.path} items={navigation} />}
        breadcrumbs={
          !alone && (
            <BreadcrumbGroup
              items={[
                { text: "GPUaaS", href: HOME },
                { text: route.title, href: pathname },
              ]}
            />
          )
        }
        notifications={<Notices />}
        stickyNotifications
        content={
          <div id="content" ref={content} tabIndex={-1}>
            <Suspense fallback={<Spinner size="large" />}>
              <ErrorBoundary key={pathname}>
                <route.page params={params} />
              </ErrorBoundary>
            </Suspense>
          </div>
        }
      />
      <ExpiredSession />
    </>
  );
}

function Notices() {
  return (
    <Flashbar
      items={useStore(notices).map(({ id, problem }) => ({
        id,
        type: "error",
        ariaRole: "alert",
        header: problem.title,
        content: <ProblemDetails problem={problem} />,
        dismissible: true,
        dismissLabel: "Dismiss",
        onDismiss: () => noticeDismiss(id),
      }))}
    />
  );
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
