import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { patiently } from "../../../src/live/patiently.ts";

const ADDRESS = "http://127.0.0.1/assets/page-1a2b.js";
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
