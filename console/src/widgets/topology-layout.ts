/** Where the boxes of a topology stand, and how much room they take: known before the code that draws them
 * is there, so that nothing jumps when it comes. Pure. */

import type { Manifest, Member } from "../api/contract.ts";

export const BOX = { width: 220, height: 104 };
/** How many stand below each other before another column begins. */
export const ROWS = 8;
/** How many are drawn. */
export const MOST = 120;

const GAP = { x: 120, y: 24 };
const TALLEST = 520;
const AROUND = 60;

export interface PlacedMember {
  readonly member: Member;
  readonly x: number;
  readonly y: number;
}

/** A column for each component in the manifest's order; many members take several columns. */
export function placed(members: readonly Member[], manifest: Manifest): readonly PlacedMember[] {
  const known = manifest.components.map(({ key }) => key);
  const others = members
    .map(({ component_key }) => component_key)
    .filter((key) => !known.includes(key));
  let column = 0;
  return [...known, ...new Set(others)].flatMap((key) => {
    const mine = members.filter(({ component_key }) => component_key === key);
    const first = column;
    column += Math.ceil(mine.length / ROWS);
    return mine.map((member, at) => ({
      member,
      x: (first + Math.floor(at / ROWS)) * (BOX.width + GAP.x),
      y: (at % ROWS) * (BOX.height + GAP.y),
    }));
  });
}

export function pictureHeight(boxes: readonly PlacedMember[]): number {
  const lowest = Math.max(...boxes.map(({ y }) => y), 0);
  return Math.min(TALLEST, lowest + BOX.height + AROUND);
}
