import { expect, it } from "vitest";
import { ago, secondsUntil } from "../../../src/widgets/times.ts";

it.each([
  [0, "just now"],
  [-5, "just now"],
  [12, "12 s ago"],
  [185, "3 min ago"],
  [7300, "2 h ago"],
  [172_799, "47 h ago"],
  [180_000, "2 days ago"],
])("%s s is %s", (seconds, words) => {
  expect(ago(0, seconds * 1000)).toBe(words);
});

it("counts whole seconds down to zero", () => {
  expect([3100, 3000, 1, -50].map((then) => secondsUntil(then, 0))).toEqual([4, 3, 1, 0]);
});
