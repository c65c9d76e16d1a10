/** The scale of usage by day: which days stand side by side, how far up the values go, in round numbers. Pure. */

import { money } from "../manifest/price.ts";

export interface Day {
  /** As in 2026-03-14, in UTC. */
  readonly day: string;
  readonly machineHours: number;
  readonly runningHours: number;
  readonly amount: number;
  readonly currency: string;
}

/** What the bars show: the cost, or the hours where nothing costs anything. */
export interface Measure {
  readonly title: string;
  readonly of: (day: Day) => number;
  readonly text: (value: number) => string;
}

export const SHOWN = 31;
const LEAST_HOURS = 0.01;
const DAY_MS = 86_400_000;

export function measureOf(days: readonly Day[]): Measure {
  const currency = days.find(({ amount }) => amount > 0)?.currency;
  if (currency === undefined) {
    return {
      title: "Machine hours",
      of: ({ machineHours }) => machineHours,
      text: hoursText,
    };
  }
  return { title: "Cost", of: ({ amount }) => amount, text: (value) => money(value, currency) };
}

/** Every day up to the last one, also those on which nothing was used: side by side they are a calendar. */
export function calendar(days: readonly Day[]): readonly Day[] {
  const last = Date.parse(days.at(-1)?.day ?? "");
  if (Number.isNaN(last)) return [];
  const known = new Map(days.map((one) => [one.day, one]));
  return Array.from({ length: SHOWN }, (_, at) => {
    const day = new Date(last - (SHOWN - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return known.get(day) ?? { day, machineHours: 0, runningHours: 0, amount: 0, currency: "" };
  });
}

/** The smallest of 1, 2, 5, 10, 20, 50 … that nothing exceeds: where the scale ends. */
export function roundTop(most: number): number {
  if (most <= 0) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 5, 10].find((one) => one * magnitude >= most) ?? 10;
  return Number((step * magnitude).toPrecision(1));
}

/** The days that are named below the bars: the last one, and those whole weeks before it. */
export function namedDays(days: readonly Day[]): readonly number[] {
  const last = days.length - 1;
  return [3, 2, 1, 0].map((weeks) => last - weeks * 7).filter((at) => at >= 0);
}

/** "14 Mar". */
export function dayText(day: string): string {
  return DAY.format(Date.parse(day));
}

/** "0.02 h", "731.25 h"; "12 s" where hours would say that it was nothing. */
export function hoursText(hours: number): string {
  if (!isLittle(hours)) return `${hoursNumber(hours)} h`;
  const seconds = Math.round(hours * 3600);
  return seconds === 0 ? "< 1 s" : `${seconds} s`;
}

/** The same under a heading that says hours. */
export function hoursNumber(hours: number): string {
  return isLittle(hours) ? `< ${LEAST_HOURS}` : String(Number(hours.toFixed(2)));
}

function isLittle(hours: number): boolean {
  return hours > 0 && hours < LEAST_HOURS;
}

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
