/** The console's router: which page an address names, and how to get to another one. Used by the shell
 * and by pages.
 *
 * Own, because all it has to do is small: match a pattern, follow History, and take over clicks on
 * plain links. Taking over links for the whole document means that every component with an `href`
 * is navigation, with no adapter for each, and that open-in-new-tab works everywhere. */

import {
  type ComponentType,
  createContext,
  type ReactNode,
  startTransition,
  useContext,
  useEffect,
  useState,
} from "react";

export type Params = Readonly<Record<string, string | undefined>>;

export interface PageProps {
  readonly params: Params;
}

export interface Route {
  /** A path; a segment that starts with a colon is a parameter. */
  readonly path: string;
  readonly title: string;
  /** The path of the page that leads to this one: the trail on top, and the place in the navigation. */
  readonly within?: string;
  readonly page: ComponentType<PageProps>;
  /** Fetches the page's code, so that it is there when somebody goes there. */
  readonly load?: () => Promise<unknown>;
  /** Begins to read what the page shows first, where its code is there. */
  readonly ahead?: Ahead;
  /** Shown without the side navigation. */
  readonly alone?: boolean;
  /** Can be looked at without being signed in. */
  readonly open?: boolean;
}

/** What a page exports beside itself when it can say, before it is drawn, what it will read. */
export type Ahead = (params: Params, search: string) => void;

export interface Location {
  readonly pathname: string;
  readonly search: string;
}

/** The page that "/" stands for. */
export const HOME = "/home";

const LocationContext = createContext<Location>({ pathname: "/", search: "" });

export function RouterProvider({ children }: { readonly children: ReactNode }) {
  const [location, setLocation] = useState(currentLocation);
  useEffect(() => {
    // A transition keeps the page that is shown until the code of the next one is there.
    const follow = () => startTransition(() => setLocation(currentLocation()));
    window.addEventListener("popstate", follow);
    window.addEventListener(NAVIGATED, follow);
    document.addEventListener("click", followLink);
    return () => {
      window.removeEventListener("popstate", follow);
      window.removeEventListener(NAVIGATED, follow);
      document.removeEventListener("click", followLink);
    };
  }, []);
  return <LocationContext value={location}>{children}</LocationContext>;
}

export function useLocation(): Location {
  return useContext(LocationContext);
}

/** Goes to an address of the console. */
export function navigate(
  to: string,
  { replace = false, stay = false }: { replace?: boolean; stay?: boolean } = {},
): void {
  const stays = to === window.location.pathname + window.location.search;
  if (replace || stays) window.history.replaceState(null, "", to);
  else window.history.pushState(null, "", to);
  window.dispatchEvent(new Event(NAVIGATED));
  if (!stays && !stay) window.scrollTo(0, 0);
}

export function matchRoute(
  routes: readonly Route[],
  pathname: string,
): { route: Route; params: Params } | null {
  for (const route of routes) {
    const params = matchPath(route.path, pathname);
    if (params !== null) return { route, params };
  }
  return null;
}

/** The pages that lead to a route, from the outermost to the route itself. */
export function trailOf(routes: readonly Route[], route: Route): readonly Route[] {
  const outer = routes.find(({ path }) => path === route.within);
  return outer === undefined ? [route] : [...trailOf(routes, outer), route];
}

/** The address of a route; null where a parameter is not known. */
export function addressOf({ path }: Route, params: Params): string | null {
  const filled = segments(path).map((segment) =>
    segment.startsWith(":") ? params[segment.slice(1)] : segment,
  );
  if (filled.includes(undefined)) return null;
  return `/${filled.map((segment) => encodeURIComponent(segment ?? "")).join("/")}`;
}

/** One value of the address behind the question mark, and the way to set it: what was typed into a
 * filter, or which tab is open, is part of a link. Setting makes no entry in the history. */
export function useQuery(name: string): readonly [string, (value: string) => void] {
  const { search } = useLocation();
  const value = new URLSearchParams(search).get(name) ?? "";
  function set(next: string): void {
    const query = new URLSearchParams(window.location.search);
    if (next === "") query.delete(name);
    else query.set(name, next);
    const text = query.toString();
    navigate(window.location.pathname + (text === "" ? "" : `?${text}`), {
      replace: true,
      stay: true,
    });
  }
  return [value, set];
}

const NAVIGATED = "gpuaas:navigated";

function currentLocation(): Location {
  if (window.location.pathname === "/") window.history.replaceState(null, "", HOME);
  return { pathname: window.location.pathname, search: window.location.search };
}

function matchPath(pattern: string, pathname: string): Params | null {
  const wanted = segments(pattern);
  const given = segments(pathname);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? "";
    if (segment.startsWith(":")) params[segment.slice(1)] = decode(value);
    else if (segment !== value) return null;
  }
  return params;
}

function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey) return;
  if (event.shiftKey || event.altKey || !(event.target instanceof Element)) return;
  const link = event.target.closest<HTMLAnchorElement>("a[href]");
  if (link === null || !isPage(link)) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
}

/** A link to a page of the console: not to another site, the API, a download or a place on the page. */
function isPage(link: HTMLAnchorElement): boolean {
  const opensHere = link.target === "" || link.target === "_self";
  return (
    opensHere &&
    !link.hasAttribute("download") &&
    link.origin === window.location.origin &&
    link.hash === "" &&
    !link.pathname.startsWith("/api/")
  );
}
