import { lazy } from "react";
import { beforeEach, expect, it, vi } from "vitest";
import { prefetchPages } from "../../../src/app/prefetch.ts";
import type { Route } from "../../../src/app/router.tsx";
import { session } from "../../../src/app/session.ts";

const page = lazy(async () => ({ default: () => null }));

function routeTo(path: string, load: () => Promise<unknown>): Route {
  return { path, title: path, page, load };
}

beforeEach(() => {
  session.set({ kind: "anonymous" });
});

it("fetches a page when its link is pointed at, and all of them once somebody is signed in", async () => {
  const aimed = vi.fn(async () => undefined);
  const broken = vi.fn(() => Promise.reject(new Error("gone")));
  const other = vi.fn(async () => undefined);
  prefetchPages([
    routeTo("/aimed/:id", aimed),
    routeTo("/broken", broken),
    routeTo("/other", other),
  ]);
  document.body.innerHTML =
    '<a href="/aimed/1"><b>there</b></a><a href="https://else.example/other">x</a>';
  for (const target of document.querySelectorAll("b, a[href^=https]")) {
    target.dispatchEvent(new Event("pointerover", { bubbles: true }));
  }
  expect(aimed).toHaveBeenCalledTimes(1);
  expect(other).not.toHaveBeenCalled();

  const who = { id: "user_1", permissions: [], bindings: [] } as never;
  session.set({ kind: "signed_in", who });
  await vi.waitFor(() => expect(other).toHaveBeenCalledTimes(1), 3000);
  expect(broken).toHaveBeenCalledTimes(1);
});

it("asks for what a page shows when its link is pressed, by whoever is signed in", () => {
  const ahead = vi.fn();
  const load = async () => undefined;
  prefetchPages([{ ...routeTo("/pressed/:id", load), ahead }]);
  document.body.innerHTML = '<a href="/pressed/7?tab=members"><b>there</b></a>';
  const press = (kind: string, button = 0) =>
    document
      .querySelector("b")
      ?.dispatchEvent(new MouseEvent(kind, { bubbles: true, cancelable: true, button }));
  document.addEventListener("click", (event) => event.preventDefault(), { once: true });
  press("pointerdown");
  expect(ahead).not.toHaveBeenCalled();
  session.set({ kind: "signed_in", who: { id: "user_1", permissions: [], bindings: [] } as never });
  press("pointerdown", 2);
  expect(ahead).not.toHaveBeenCalled();
  press("pointerdown");
  press("click");
  expect(ahead.mock.calls).toEqual([
    [{ id: "7" }, "?tab=members"],
    [{ id: "7" }, "?tab=members"],
  ]);
});
