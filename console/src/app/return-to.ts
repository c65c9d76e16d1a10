/** Where to go after signing in. Read from the address, so it is not trusted. */

import { HOME } from "./router.tsx";

/** The address of the sign-in page that leads back to `from`. */
export function signInHref(from: string): string {
  return from === HOME || from.startsWith("/sign-in")
    ? "/sign-in"
    : `/sign-in?${new URLSearchParams({ return_to: from })}`;
}

/** The place named by `?return_to=`, when it is one of the console's own; home otherwise. */
export function returnTo(search: string): string {
  const wanted = new URLSearchParams(search).get("return_to") ?? HOME;
  if (!wanted.startsWith("/") || !URL.canParse(wanted, window.location.origin)) return HOME;
  const url = new URL(wanted, window.location.origin);
  // "//host" and "/\host" start with a slash and still lead to another site.
  if (url.origin !== window.location.origin) return HOME;
  const path = url.pathname + url.search;
  return path.startsWith("/sign-in") || path.startsWith("/api/") ? HOME : path;
}
