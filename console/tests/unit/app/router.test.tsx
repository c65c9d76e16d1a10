import { act, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { lazy } from "react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { returnTo, signInHref } from "../../../src/app/return-to.ts";
import {
  addressOf,
  HOME,
  matchRoute,
  navigate,
  type Route,
  RouterProvider,
  trailOf,
  useLocation,
} from "../../../src/app/router.tsx";
import { routes } from "../../../src/app/routes.ts";

function Here() {
  const { pathname, search } = useLocation();
  return (
    <>
      <output>{pathname + search}</output>
      <a href="/next?a=1">next</a>
      <a href="/api/v1/version">api</a>
      <a href="/next" target="_blank" rel="noreferrer">
        tab
      </a>
      <a href="#content">skip</a>
    </>
  );
}

beforeEach(() => {
  window.history.replaceState(null, "", "/start");
  vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
});

describe("matching", () => {
  const page = lazy(async () => ({ default: () => null }));
  const routes: Route[] = ["/instances", "/instances/:id", "/instances/:id/events"].map((path) => ({
    path,
    title: path,
    page,
  }));

  it.each([
    ["/instances", "/instances", {}],
    ["/instances/", "/instances", {}],
    ["/instances/inst_1", "/instances/:id", { id: "inst_1" }],
    ["/instances/a%2Fb/events", "/instances/:id/events", { id: "a/b" }],
    ["/instances/%E0%A4%A", "/instances/:id", { id: "%E0%A4%A" }],
  ])("%s is %s", (pathname, path, params) => {
    expect(matchRoute(routes, pathname)).toMatchObject({ route: { path }, params });
  });

  it.each(["/", "/instance", "/instances/a/b", "/Instances"])("%s is no page", (pathname) => {
    expect(matchRoute(routes, pathname)).toBeNull();
  });
});

describe("going places", () => {
  function show(): void {
    render(
      <RouterProvider>
        <Here />
      </RouterProvider>,
    );
  }

  it("follows a plain link without loading a page, and the way back", async () => {
    show();
    await userEvent.click(screen.getByText("next"));
    expect(screen.getByRole("status").textContent).toBe("/next?a=1");
    await act(async () => {
      const moved = new Promise((resolve) =>
        window.addEventListener("popstate", resolve, { once: true }),
      );
      window.history.back();
      await moved;
    });
    expect(screen.getByRole("status").textContent).toBe("/start");
  });

  it.each(["api", "tab", "skip"])("leaves the %s link to the browser", async (name) => {
    show();
    const seen = vi.fn((event: Event) => {
      expect(event.defaultPrevented).toBe(false);
      event.preventDefault();
    });
    window.addEventListener("click", seen, { once: true });
    await userEvent.click(screen.getByText(name));
    expect(seen).toHaveBeenCalledOnce();
    expect(screen.getByRole("status").textContent).toBe("/start");
  });

  it("leaves a click with a modifier to the browser", async () => {
    show();
    window.addEventListener("click", (event) => event.preventDefault(), { once: true });
    const user = userEvent.setup();
    await user.keyboard("{Control>}");
    await user.click(screen.getByText("next"));
    expect(screen.getByRole("status").textContent).toBe("/start");
  });

  it("does not pile up history for the place one is at", () => {
    show();
    const before = window.history.length;
    act(() => navigate("/start"));
    expect(window.history.length).toBe(before);
  });

  it("takes the bare address for home", () => {
    window.history.replaceState(null, "", "/");
    show();
    expect(screen.getByRole("status").textContent).toBe(HOME);
  });
});

describe("the way back after signing in", () => {
  it("survives the round trip", () => {
    const href = signInHref("/instances/inst_1?tab=events");
    expect(returnTo(new URL(href, window.location.origin).search)).toBe(
      "/instances/inst_1?tab=events",
    );
  });

  it.each([
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "",
    "/sign-in?return_to=/sign-in",
    "/api/v1/sessions",
    "http://[",
  ])("never leads to %j", (wanted) => {
    expect(returnTo(`?${new URLSearchParams({ return_to: wanted })}`)).toBe(HOME);
  });

  it("is home when nothing was named", () => {
    expect(returnTo("")).toBe(HOME);
    expect(signInHref("/sign-in?x=1")).toBe("/sign-in");
  });
});

describe("the trail to a page", () => {
  it("leads from the navigation to every page that does not stand in it", () => {
    for (const route of routes) {
      const [first] = trailOf(routes, route);
      expect(first?.within, route.path).toBeUndefined();
    }
    const deploy = routes.find(({ title }) => title === "Deploy");
    expect(deploy && trailOf(routes, deploy).map(({ title }) => title)).toEqual([
      "Catalog",
      "App",
      "Deploy",
    ]);
  });

  it("is an address where everything in it is known", () => {
    const page = lazy(async () => ({ default: () => null }));
    const route = { path: "/projects/:project_id/instances", title: "Instances", page };
    expect(addressOf(route, { project_id: "a b" })).toBe("/projects/a%20b/instances");
    expect(addressOf(route, {})).toBeNull();
  });
});
