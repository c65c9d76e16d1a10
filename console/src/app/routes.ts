/** Every page of the console and its place in the navigation. A new page is a folder under pages/ and
 * a line here; its code is a chunk of its own. */

import type { SideNavigationProps } from "@cloudscape-design/components/side-navigation";
import { lazy } from "react";
import type { Route } from "./router.tsx";

export const routes: readonly Route[] = [
  { path: "/platform", title: "Platform", page: lazy(() => import("../pages/platform/index.tsx")) },
  {
    path: "/sign-in",
    title: "Sign in",
    page: lazy(() => import("../pages/sign-in/index.tsx")),
    alone: true,
  },
];

export const notFound: Route = {
  path: "",
  title: "Not found",
  page: lazy(() => import("../pages/not-found/index.tsx")),
};

export const navigation: readonly SideNavigationProps.Item[] = [
  {
    type: "section-group",
    title: "Operate",
    items: [{ type: "link", text: "Platform", href: "/platform" }],
  },
];
