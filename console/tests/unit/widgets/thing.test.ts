import { expect, it } from "vitest";
import { pageOf } from "../../../src/widgets/thing.tsx";

it.each([
  ["inst_01H", "/instances/inst_01H"],
  ["proj_01H", "/projects/proj_01H/instances"],
  ["user_01H", null],
  ["template", null],
  ["", null],
])("the page of %s is %s", (id, page) => {
  expect(pageOf(id)).toBe(page);
});
