/** How long a reader waits before it tries again: doubling, capped, and spread so that the browsers
 * of a whole team do not come back to a restarted platform in the same moment. */

const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/** The wait after the n-th failure in a row (n from 1). At least `floorMs`, when the server named one. */
export function backoffDelay(failures: number, floorMs = 0, random = Math.random): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
  return Math.max(floorMs, ceiling * (0.5 + random() / 2));
}
