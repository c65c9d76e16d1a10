/** Times in words. Pure. */

/** "just now", "12 s ago", "3 min ago", "2 h ago". */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - then) / 1000));
  if (seconds < 2) return "just now";
  return `${duration(seconds)} ago`;
}

/** "12 s", "3 min", "2 h": the largest unit, rounded down. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h`;
}

/** Whole seconds until `then`, never below zero. */
export function secondsUntil(then: number, now: number): number {
  return Math.max(0, Math.ceil((then - now) / 1000));
}
