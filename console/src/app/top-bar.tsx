/** The bar on top: the product, how the connection stands, light or dark, and who is signed in. */

import TopNavigation, {
  type TopNavigationProps,
} from "@cloudscape-design/components/top-navigation";
import { type ConnectionState, connection } from "../live/connection.ts";
import { useStore } from "../live/store.ts";
import { APPEARANCES, type Appearance, appearance, chooseAppearance } from "./appearance.ts";
import logo from "./logo.svg";
import { signInHref } from "./return-to.ts";
import { HOME, useLocation } from "./router.tsx";
import { displayName, type Session, session, signOut } from "./session.ts";

export function TopBar() {
  const state = useStore(connection);
  const choice = useStore(appearance);
  const current = useStore(session);
  const { pathname, search } = useLocation();
  const utilities = [
    ...(state === null ? [] : [connectionUtility(state)]),
    appearanceUtility(choice),
    ...(pathname === "/sign-in" ? [] : accountUtilities(current, signInHref(pathname + search))),
  ];
  return (
    <TopNavigation
      identity={{ href: HOME, title: "GPUaaS", logo: { src: logo, alt: "Home" } }}
      utilities={utilities}
    />
  );
}

const CONNECTIONS = {
  live: { text: "Live", iconName: "status-positive" },
  reconnecting: { text: "Reconnecting", iconName: "status-in-progress" },
  offline: { text: "Offline", iconName: "status-negative" },
} as const satisfies Record<ConnectionState, Partial<TopNavigationProps.ButtonUtility>>;

function connectionUtility(state: ConnectionState): TopNavigationProps.Utility {
  const { text, iconName } = CONNECTIONS[state];
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

function accountUtilities(current: Session, href: string): TopNavigationProps.Utility[] {
  if (current.kind === "unknown") return [];
  if (current.kind === "anonymous") return [{ type: "button", text: "Sign in", href }];
  const { email } = current.who;
  return [
    {
      type: "menu-dropdown",
      iconName: "user-profile",
      text: displayName(current.who),
      ...(email ? { description: email } : {}),
      items: [{ id: "sign-out", text: "Sign out" }],
      onItemClick: () => void signOut(),
    },
  ];
}
