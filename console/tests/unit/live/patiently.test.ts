import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { patiently } from "../../../src/live/patiently.ts";

const ADDRESS = "http://127.0.0.1/assets/page-1a2b.js";
const SHEET = "http://127.0.0.1/assets/page-3c4d.css";
const LOST = new TypeError(`Failed to fetch dynamically imported module: ${ADDRESS}`);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a module that was lost is asked for by another address each time", async () => {
  const load = vi.fn().mockRejectedValue(LOST);
  const again = vi
    .fn()
    .mockRejectedValueOnce(new TypeError(`${LOST.message}?again=0`))
    .mockResolvedValueOnce("the page");
  const got = patiently(load, again);
  await vi.runAllTimersAsync();
  expect(await got).toBe("the page");
  expect(load).toHaveBeenCalledTimes(1);
  expect(again.mock.calls).toEqual([[`${ADDRESS}?again=0`], [`${ADDRESS}?again=1`]]);
});

test("what does not say where it was is asked for as before, and its failure is told in the end", async () => {
  const load = vi.fn().mockRejectedValue(new TypeError("Importing a module script failed."));
  const got = patiently(load).catch((error: unknown) => String(error));
  await vi.runAllTimersAsync();
  expect(await got).toBe("TypeError: Importing a module script failed.");
  expect(load).toHaveBeenCalledTimes(4);
});

test("a style sheet that was lost is asked for again, until it is there", async () => {
  document.head.innerHTML = `<link rel="stylesheet" href="${SHEET}">`;
  const load = vi
    .fn()
    .mockRejectedValueOnce(new Error(`Unable to preload CSS for ${SHEET}`))
    .mockResolvedValueOnce("the page");
  const again = vi.fn();
  const got = patiently(load, again);
  await vi.advanceTimersByTimeAsync(200);
  sheets().at(-1)?.dispatchEvent(new Event("error"));
  await vi.advanceTimersByTimeAsync(800);
  sheets().at(-1)?.dispatchEvent(new Event("load"));
  expect(await got).toBe("the page");
  expect(sheets().map(({ href }) => href)).toEqual([SHEET, `${SHEET}?again=0`, `${SHEET}?again=1`]);
  expect(again).not.toHaveBeenCalled();
});

function sheets(): HTMLLinkElement[] {
  return [...document.head.querySelectorAll("link")];
}
