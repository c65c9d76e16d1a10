/** Where the boxes of a topology stand, and how much room they take: known before the code that draws them
 * is there, so that nothing jumps when it comes. Pure. */

import type { Manifest, Member } from "../api/contract.ts";

export const BOX = { width: 220, height: 104 };
/** How many stand below each other before another column begins. */
export const ROWS = 8;

const GAP = { x: 120, y: 24 };
const TALLEST = 520;
const AROUND = 60;
/** Where there is no room for columns, a component stands below the one before, by so much to the right. */
const INDENT = 48;
/** How many are drawn. */
const MOST = { wide: 120, narrow: 12 };

export interface PlacedMember {
  readonly member: Member;
  readonly x: number;
  readonly y: number;
}

/** A column for each component in the manifest's order, many members take several; on a phone a branch for each. */
export function placed(
  members: readonly Member[],
  manifest: Manifest,
  narrow = false,
): readonly PlacedMember[] {
  const ranks = inRanks(members, manifest);
  return narrow ? branches(ranks).slice(0, MOST.narrow) : columns(ranks).slice(0, MOST.wide);
}

/** The members of each component that has any. */
function inRanks(members: readonly Member[], manifest: Manifest): readonly (readonly Member[])[] {
  const known = manifest.components.map(({ key }) => key);
  const others = members
    .map(({ component_key }) => component_key)
    .filter((key) => !known.includes(key));
  return [...known, ...new Set(others)]
    .map((key) => members.filter(({ component_key }) => component_key === key))
    .filter((mine) => mine.length > 0);
}

function branches(ranks: readonly (readonly Member[])[]): readonly PlacedMember[] {
  return ranks
    .flatMap((mine, rank) => mine.map((member) => ({ member, x: Math.min(rank, 1) * INDENT })))
    .map((box, at) => ({ ...box, y: at * (BOX.height + GAP.y) }));
}

function columns(ranks: readonly (readonly Member[])[]): readonly PlacedMember[] {
  let column = 0;
  return ranks.flatMap((mine) => {
    const first = column;
    column += Math.ceil(mine.length / ROWS);
    return mine.map((member, at) => ({
      member,
      x: (first + Math.floor(at / ROWS)) * (BOX.width + GAP.x),
      y: (at % ROWS) * (BOX.height + GAP.y),
    }));
  });
}

export function pictureHeight(boxes: readonly PlacedMember[], narrow = false): number {
  const lowest = Math.max(...boxes.map(({ y }) => y), 0);
  const height = lowest + BOX.height + AROUND;
  return narrow ? height : Math.min(TALLEST, height);
}
