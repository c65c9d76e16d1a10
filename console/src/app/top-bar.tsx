/** The bar on top: the product, how the connection stands, light or dark, and who is signed in. */

import TopNavigation, {
  type TopNavigationProps,
} from "@cloudscape-design/components/top-navigation";
import { memo } from "react";
import type { Whoami } from "../api/contract.ts";
import { type ConnectionState, connection } from "../live/connection.ts";
import { useStore } from "../live/store.ts";
import { APPEARANCES, type Appearance, appearance, chooseAppearance } from "./appearance.ts";
import logo from "./logo.svg";
import { chooseProject, type Project, useProject, useProjects, useTenantNames } from "./place.ts";
import { signInHref } from "./return-to.ts";
import { HOME, navigate, useLocation } from "./router.tsx";
import { displayName, session, signOut } from "./session.ts";

export function TopBar() {
  const { pathname, search } = useLocation();
  const stranger = useStore(session).kind === "anonymous";
  const href = stranger ? signInHref(pathname + search) : "";
  return <Bar signingIn={pathname === "/sign-in"} signIn={href} />;
}

interface BarProps {
  readonly signingIn: boolean;
  readonly signIn: string;
}

/** Drawn only when something on it changes: it measures itself, and with it the page below. */
const Bar = memo(function Bar({ signingIn, signIn }: BarProps) {
  return (
    <TopNavigation
      identity={{ href: HOME, title: "GPUaaS", logo: { src: logo, alt: "Home" } }}
      utilities={useUtilities(signingIn, signIn)}
    />
  );
});

/** A menu is known by its place in the row: nothing may come in before one, or the menu that was opened
 * would close, or become its neighbour. So the row is there when all of it is known. */
export function useUtilities(
  signingIn: boolean,
  signIn: string,
): readonly TopNavigationProps.Utility[] {
  const state = useStore(connection);
  const looks = appearanceUtility(useStore(appearance));
  const current = useStore(session);
  const switcher = useProjectSwitcher();
  const { loading } = useProjects();
  if (signingIn) return [looks];
  if (current.kind === "unknown" || (current.kind === "signed_in" && loading)) return [];
  if (current.kind !== "anonymous") {
    return [...switcher, connectionUtility(state), looks, accountUtility(current.who)];
  }
  const shown = state === null ? [] : [connectionUtility(state)];
  return [looks, ...shown, { type: "button", text: "Sign in", href: signIn }];
}

const MOST_PROJECTS = 25;

/** The project that is worked in, and the way to another one: the same page there. */
function useProjectSwitcher(): TopNavigationProps.Utility[] {
  const projects = useProjects().value ?? [];
  const current = useProject();
  const tenants = useTenantNames();
  if (current === null) return [];
  return [
    {
      type: "menu-dropdown",
      iconName: "folder",
      text: current.display_name,
      description: tenants.get(current.org_id) ?? current.org_id,
      ariaLabel: `Project: ${current.display_name}`,
      items: [
        ...byTenant(projects.slice(0, MOST_PROJECTS), tenants, current.id),
        { id: "all", text: "All projects", href: "/projects" },
      ],
      onItemClick({ detail }) {
        const chosen = projects.find(({ id }) => id === detail.id);
        if (chosen !== undefined) goToProject(chosen.id);
      },
    },
  ];
}

function byTenant(
  projects: readonly Project[],
  tenants: ReadonlyMap<string, string>,
  chosen: string,
): TopNavigationProps.MenuDropdownUtility["items"] {
  return [...new Set(projects.map(({ org_id }) => org_id))].map((org) => ({
    id: org,
    text: tenants.get(org) ?? org,
    items: projects
      .filter(({ org_id }) => org_id === org)
      .map(({ id, display_name }) => ({
        id,
        itemType: "checkbox" as const,
        text: display_name,
        checked: id === chosen,
      })),
  }));
}

function goToProject(id: string): void {
  chooseProject(id);
  const [first, , page] = window.location.pathname.split("/").filter((part) => part !== "");
  if (`/${first}` === HOME) return;
  if (first === "projects" && page !== undefined) navigate(`/projects/${id}/${page}`);
  else navigate(`/projects/${id}/instances`);
}

const CONNECTING = { text: "Connecting", iconName: "status-pending" } as const;
const CONNECTIONS = {
  live: { text: "Live", iconName: "status-positive" },
  reconnecting: { text: "Reconnecting", iconName: "status-in-progress" },
  offline: { text: "Offline", iconName: "status-negative" },
} as const satisfies Record<ConnectionState, Partial<TopNavigationProps.ButtonUtility>>;

function connectionUtility(state: ConnectionState | null): TopNavigationProps.Utility {
  const { text, iconName } = state === null ? CONNECTING : CONNECTIONS[state];
  return {
    type: "button",
    text,
    iconName,
    ariaLabel: `Connection: ${text}`,
    href: "/platform",
    disableUtilityCollapse: true,
    disableTextCollapse: true,
  };
}

const APPEARANCE_NAMES: Readonly<Record<Appearance, string>> = {
  system: "Same as system",
  light: "Light",
  dark: "Dark",
};

function appearanceUtility(choice: Appearance): TopNavigationProps.Utility {
  return {
    type: "menu-dropdown",
    iconName: "settings",
    title: "Appearance",
    ariaLabel: "Appearance",
    items: APPEARANCES.map((id) => ({
      id,
      itemType: "checkbox",
      text: APPEARANCE_NAMES[id],
      checked: id === choice,
    })),
    onItemClick({ detail }) {
      const chosen = APPEARANCES.find((id) => id === detail.id);
      if (chosen !== undefined) chooseAppearance(chosen);
    },
  };
}

function accountUtility(who: Whoami): TopNavigationProps.Utility {
  return {
    type: "menu-dropdown",
    iconName: "user-profile",
    text: displayName(who),
    ...(who.email ? { description: who.email } : {}),
    items: [
      { id: "account", text: "Your account", href: "/account" },
      { id: "sign-out", text: "Sign out" },
    ],
    onItemClick({ detail }) {
      if (detail.id === "sign-out") void signOut();
    },
  };
}
