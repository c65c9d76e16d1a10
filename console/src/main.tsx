/** Starts the console. */

import "@cloudscape-design/global-styles/index.css";
import "./app/styles.css";
import { I18nProvider } from "@cloudscape-design/components/i18n";
import messages from "@cloudscape-design/components/i18n/messages/all.en";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { followAppearance } from "./app/appearance.ts";
import { prefetchPages } from "./app/prefetch.ts";
import { RouterProvider } from "./app/router.tsx";
import { routes } from "./app/routes.ts";
import { followSession } from "./app/session.ts";
import { Shell } from "./app/shell.tsx";

followAppearance();
followSession();
prefetchPages(routes, [
  () => import("./widgets/topology.tsx"),
  // What an empty field asks for is written in it: not only once somebody waits for a list with such a field.
  () => document.fonts.load("italic 1em 'Open Sans'"),
]);

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <I18nProvider locale="en" messages={[messages]}>
      <RouterProvider>
        <Shell />
      </RouterProvider>
    </I18nProvider>
  </StrictMode>,
);
