import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { UsageDays } from "../../../src/widgets/usage-days.tsx";
import {
  calendar,
  hoursNumber,
  hoursText,
  namedDays,
  roundTop,
} from "../../../src/widgets/usage-scale.ts";

const total = { unit: "node_hour", quantity: "2", currency: "EUR", amount: "3.20" };

it("ends its scale at a round number that nothing exceeds", () => {
  expect([0, 0.03, 1, 1.2, 4.9, 5.1, 730, 21.4].map(roundTop)).toEqual([
    1, 0.05, 1, 2, 5, 10, 1000, 50,
  ]);
});

it.each([
  [0, "0 h", "0"],
  [0.0001, "< 1 s", "< 0.01"],
  [3 / 3600, "3 s", "< 0.01"],
  [0.0099, "36 s", "< 0.01"],
  [0.01, "0.01 h", "0.01"],
  [1.504, "1.5 h", "1.5"],
  [731.25, "731.25 h", "731.25"],
])("says %d hours so that something is never nothing", (hours, alone, inColumn) => {
  expect(hoursText(hours)).toBe(alone);
  expect(hoursNumber(hours)).toBe(inColumn);
});

it("puts days where they are in the calendar, also those on which nothing was used", () => {
  const used = { machineHours: 1, runningHours: 1, amount: 1, currency: "EUR" };
  const days = calendar([
    { day: "2026-02-27", ...used },
    { day: "2026-03-02", ...used },
  ]);
  expect(days.length).toBe(31);
  expect(days.slice(-4).map(({ day, amount }) => [day, amount])).toEqual([
    ["2026-02-27", 1],
    ["2026-02-28", 0],
    ["2026-03-01", 0],
    ["2026-03-02", 1],
  ]);
  expect(namedDays(days).map((at) => days[at]?.day)).toEqual([
    "2026-02-09",
    "2026-02-16",
    "2026-02-23",
    "2026-03-02",
  ]);
});

it("says its values, its days and its scale, also to whoever does not see it", () => {
  render(<UsageDays days={[{ ...total, day: "2026-03-14" }] as never} />);
  const chart = screen.getByRole("img", { name: /^Cost by day, 31 days up to 2026-03-14/ });
  expect(chart.getAttribute("aria-label")).toContain("most on 2026-03-14 with €3.20");
  for (const text of ["€5.00", "€2.50", "€0.00", "Cost per day, in UTC"]) {
    expect(screen.getByText(text)).toBeDefined();
  }
  expect(chart.textContent).toMatch(/14/);
});

it("counts hours where nothing costs anything", () => {
  const free = { ...total, currency: null, amount: null, day: "2026-03-14" };
  render(<UsageDays days={[free] as never} />);
  expect(screen.getByRole("img", { name: /^Machine hours by day, / })).toBeDefined();
  expect(screen.getByText("2 h")).toBeDefined();
});
