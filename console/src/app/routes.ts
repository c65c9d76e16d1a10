/** Every page of the console. A new page is a folder under pages/ and a line here; its code is a chunk of
 * its own. Where it stands in the navigation is said in navigation.ts; a page that does not stand there
 * says within which other one it is. */

import { type ComponentType, createElement, use } from "react";
import { patiently } from "../live/patiently.ts";
import type { Ahead, PageProps, Route } from "./router.tsx";

interface PageCode {
  readonly default: ComponentType<PageProps>;
  readonly ahead?: Ahead;
}

type Load = () => Promise<PageCode>;

const CATALOG = "/projects/:project_id/catalog";
const INSTANCES = "/projects/:project_id/instances";
const OPERATIONS = "/projects/:project_id/operations";
const ALLOCATIONS = "/projects/:project_id/allocations";
const ACCESS = "/projects/:project_id/access";
const EVENTS = "/projects/:project_id/events";

export const routes: readonly Route[] = [
  page("/home", "Home", () => import("../pages/home/index.tsx")),
  page("/projects", "Projects", () => import("../pages/projects/index.tsx")),
  page(CATALOG, "Catalog", () => import("../pages/catalog/index.tsx")),
  page(`${CATALOG}/:slug`, "App", () => import("../pages/app/index.tsx"), CATALOG),
  page(
    `${CATALOG}/:slug/deploy`,
    "Deploy",
    () => import("../pages/deploy/index.tsx"),
    `${CATALOG}/:slug`,
  ),
  page(INSTANCES, "Instances", () => import("../pages/instances/index.tsx")),
  page(
    "/instances/:instance_id",
    "Instance",
    () => import("../pages/instance/index.tsx"),
    INSTANCES,
  ),
  page(OPERATIONS, "Operations", () => import("../pages/operations/index.tsx")),
  page(
    "/operations/:operation_id",
    "Operation",
    () => import("../pages/operation/index.tsx"),
    OPERATIONS,
  ),
  page(
    "/operation-groups/:group_id",
    "Operations asked for together",
    () => import("../pages/operation-group/index.tsx"),
    OPERATIONS,
  ),
  page("/correlations", "Find by correlation id", () => import("../pages/correlation/index.tsx")),
  page(
    "/correlations/:correlation_id",
    "Correlation",
    () => import("../pages/correlation/index.tsx"),
    "/correlations",
  ),
  page(ALLOCATIONS, "Allocations", () => import("../pages/allocations/index.tsx")),
  page(
    "/allocations/:allocation_id",
    "Allocation",
    () => import("../pages/allocation/index.tsx"),
    ALLOCATIONS,
  ),
  page(ACCESS, "Access", () => import("../pages/access/index.tsx")),
  page(
    "/service-accounts/:account_id",
    "Service account",
    () => import("../pages/service-account/index.tsx"),
    ACCESS,
  ),
  page(EVENTS, "Events", () => import("../pages/events/index.tsx")),
  page("/webhooks/:webhook_id", "Webhook", () => import("../pages/webhook/index.tsx"), EVENTS),
  page("/projects/:project_id/usage", "Usage", () => import("../pages/usage/index.tsx")),
  page("/projects/:project_id/policy", "Policy", () => import("../pages/policy/index.tsx")),
  page("/audit", "Audit", () => import("../pages/audit/index.tsx")),
  page("/tenants", "Tenants", () => import("../pages/tenants/index.tsx")),
  page("/tenants/:org_id", "Tenant", () => import("../pages/tenant/index.tsx"), "/tenants"),
  page("/people/:user_id", "Person", () => import("../pages/person/index.tsx"), "/tenants"),
  page("/admin/capacity", "Capacity", () => import("../pages/capacity/index.tsx")),
  page("/admin/nodes/:node_id", "Node", () => import("../pages/node/index.tsx"), "/admin/capacity"),
  page("/admin/apps", "Published apps", () => import("../pages/publishing/index.tsx")),
  page(
    "/admin/apps/:slug",
    "Published app",
    () => import("../pages/published-app/index.tsx"),
    "/admin/apps",
  ),
  page("/artifacts", "Artifacts", () => import("../pages/artifacts/index.tsx")),
  page(
    "/artifacts/:artifact_id",
    "Artifact",
    () => import("../pages/artifact/index.tsx"),
    "/artifacts",
  ),
  page(
    "/artifact-sources/:source_id",
    "Source of artifacts",
    () => import("../pages/artifact-source/index.tsx"),
    "/artifacts",
  ),
  page("/account", "Your account", () => import("../pages/account/index.tsx")),
  page("/device", "Let a terminal in", () => import("../pages/device/index.tsx")),
  { ...page("/platform", "Platform", () => import("../pages/platform/index.tsx")), open: true },
  {
    ...page("/sign-in", "Sign in", () => import("../pages/sign-in/index.tsx")),
    alone: true,
    open: true,
  },
];

export const notFound: Route = {
  ...page("", "Not found", () => import("../pages/not-found/index.tsx")),
  open: true,
};

function page(path: string, title: string, fetched: Load, within?: string): Route {
  const code = kept(() => patiently(fetched));
  return {
    path,
    title,
    page: (props) => createElement(use(code.forPage()).default, props),
    load: code.load,
    ahead: (params, search) => code.here()?.ahead?.(params, search),
    ...(within === undefined ? {} : { within }),
  };
}

/** Code that is fetched once; ahead of its page again and again while that fails, for the page once. What is here
 * already is drawn at once: React waits for a promise that does not say so, and throws a drawing away. */
function kept<T>(fetched: () => Promise<T>) {
  let value: T | null = null;
  let promise: Promise<T> | null = null;
  let drawn: Promise<T> | null = null;

  async function begin(): Promise<T> {
    try {
      value = await fetched();
    } catch (thrown) {
      promise = null;
      throw thrown;
    }
    Object.assign(promise ?? {}, { status: "fulfilled", value });
    return value;
  }

  function load(): Promise<T> {
    promise ??= begin();
    return promise;
  }

  return {
    load,
    here: () => value,
    forPage(): Promise<T> {
      drawn ??= load();
      return drawn;
    },
  };
}
