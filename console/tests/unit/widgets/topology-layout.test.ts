import { expect, it } from "vitest";
import type { Member } from "../../../src/api/contract.ts";
import { BOX, pictureHeight, placed, ROWS } from "../../../src/widgets/topology-layout.ts";
import { MANIFEST, member } from "../manifest/scene.ts";

function many(count: number): Member[] {
  return Array.from({ length: count }, (_, at) => ({ ...member("hand", "ready"), id: `${at}` }));
}

it("gives every component its columns, those the manifest does not know last", () => {
  const boxes = placed(
    [member("tail", "ready"), ...many(ROWS + 1), member("head", "ready")],
    MANIFEST,
  );
  const columns = [...new Set(boxes.map(({ x }) => x))];
  expect(columns).toHaveLength(4); // head, two of hands, tail
  expect(boxes[0]?.member.component_key).toBe("head");
  expect(boxes.at(-1)?.member.component_key).toBe("tail");
  expect(new Set(boxes.map(({ x, y }) => `${x},${y}`)).size).toBe(boxes.length);
});

it("takes room for what is in it, and no more than a part of a screen", () => {
  const one = pictureHeight(placed(many(1), MANIFEST));
  expect(one).toBeGreaterThan(BOX.height);
  expect(pictureHeight(placed(many(3), MANIFEST))).toBeGreaterThan(one);
  expect(pictureHeight(placed(many(100), MANIFEST))).toBe(520);
});

it("stands in branches on a phone, as tall as it is and of no more than can be looked through", () => {
  const boxes = placed([...many(20), member("head", "ready")], MANIFEST, true);
  expect(boxes).toHaveLength(12);
  expect(boxes[0]?.member.component_key).toBe("head");
  expect(new Set(boxes.map(({ y }) => y)).size).toBe(12);
  const tree = placed([...many(3), member("head", "ready")], MANIFEST, true);
  expect(tree.map(({ member: { component_key }, x }) => [component_key, x])).toEqual([
    ["head", 0],
    ["hand", 48],
    ["hand", 48],
    ["hand", 48],
  ]);
  expect(pictureHeight(tree, true)).toBeGreaterThan(pictureHeight(tree));
});
