/** Times in words. Pure. */

/** "just now", "12 s ago", "3 min ago", "2 h ago". */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - then) / 1000));
  if (seconds < 2) return "just now";
  return `${duration(seconds)} ago`;
}

/** "12 s", "3 min", "2 h", "4 days": the largest unit, rounded down. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** Whole seconds until `then`, never below zero. */
export function secondsUntil(then: number, now: number): number {
  return Math.max(0, Math.ceil((then - now) / 1000));
}

/** "0.4 s", "12 s", "3 min 20 s", "2 h 5 min": two units, for what is being waited for. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** The exact time, in the person's own way to write it. */
export function exact(at: string): string {
  return DAY_AND_TIME.format(Date.parse(at));
}

/** The time of day with its thousandths: for what happens within one. */
export function timeOfDay(at: string): string {
  return TIME.format(Date.parse(at));
}

// Made once: making one takes longer than a hundred times.
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  dateStyle: "short",
  timeStyle: "medium",
});
const TIME = new Intl.DateTimeFormat(undefined, {
  hour12: false,
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});
