/** Fetches the code of pages before somebody goes there: of all of them, and of parts that pages fetch late, once
 * the browser has nothing else to do, and at once of a page whose link is pointed at or focused. What a page shows
 * is asked for when its link is pressed, before the browser does anything else about it. Started by main.tsx.
 *
 * Nothing is fetched ahead before somebody is signed in, nor for whoever asked the browser to save data. */

import { matchRoute, type Route } from "./router.tsx";
import { session } from "./session.ts";

/** Long enough for the first page to read and show what it has. */
const QUIET_MS = 400;

type Load = () => Promise<unknown>;

export function prefetchPages(routes: readonly Route[], parts: readonly Load[] = []): void {
  if (savesData()) return;
  const aimed = (event: Event) => prefetchTarget(routes, event.target);
  document.addEventListener("pointerover", aimed, { passive: true });
  document.addEventListener("focusin", aimed);
  readPressed(routes);
  whenSignedIn(() => setTimeout(() => fetchNext([...routes.flatMap(loader), ...parts]), QUIET_MS));
}

function prefetchTarget(routes: readonly Route[], target: EventTarget | null): void {
  const link = linkAt(target);
  if (link !== null) void matchRoute(routes, link.pathname)?.route.load?.().catch(ignored);
}

/** A press is followed by the click a moment later; by keyboard there is the click alone. */
function readPressed(routes: readonly Route[]): void {
  const pressed = (event: MouseEvent) => {
    const link = event.button === 0 ? linkAt(event.target) : null;
    if (link === null || session.get().kind !== "signed_in") return;
    const found = matchRoute(routes, link.pathname);
    found?.route.ahead?.(found.params, link.search);
  };
  for (const kind of ["pointerdown", "click"] as const) {
    document.addEventListener(kind, pressed, { passive: true, capture: true });
  }
}

function linkAt(target: EventTarget | null): HTMLAnchorElement | null {
  if (!(target instanceof Element)) return null;
  const link = target.closest<HTMLAnchorElement>("a[href]");
  return link?.origin === window.location.origin ? link : null;
}

function whenSignedIn(act: () => void): void {
  if (session.get().kind === "signed_in") {
    act();
    return;
  }
  const detach = session.subscribe(() => {
    if (session.get().kind !== "signed_in") return;
    detach();
    act();
  });
}

/** One page after the other, so that what the person does comes first. */
function fetchNext([load, ...others]: readonly Load[]): void {
  if (load === undefined) return;
  whenIdle(() => {
    void load()
      .catch(ignored)
      .then(() => fetchNext(others));
  });
}

function loader({ load }: Route): Load[] {
  return load === undefined ? [] : [load];
}

/** Whoever goes there tries again, and is told when it fails. */
function ignored(): void {
  // Fetching ahead is a favour.
}

function whenIdle(act: () => void): void {
  // Not every browser tells when it is idle.
  if ("requestIdleCallback" in window) window.requestIdleCallback(act);
  else setTimeout(act, 50);
}

function savesData(): boolean {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  return connection?.saveData ?? false;
}
