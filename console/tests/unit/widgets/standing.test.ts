import { expect, it } from "vitest";
import { explained, failuresStanding } from "../../../src/widgets/standing.ts";

const operations = [
  { id: "op_4", status: "succeeded" },
  { id: "op_3", status: "failed" },
  { id: "op_2", status: "failed" },
  { id: "op_1", status: "failed" },
] as never;

function standing(last: string, members: readonly { status: string; last: string }[]): string[] {
  const instance = { last_operation_id: last } as never;
  const found = members.map((one) => ({ status: one.status, last_operation_id: one.last }));
  return failuresStanding(operations, [instance], found as never).map(({ id }) => id);
}

it("holds the last of the whole, and of a member that is not well, whoever came after it", () => {
  expect(standing("op_3", [])).toEqual(["op_3"]);
  expect(standing("op_4", [{ status: "failed", last: "op_2" }])).toEqual(["op_2"]);
});

it("lets go of what something was done about, and of a member that is well again or gone", () => {
  expect(standing("op_4", [])).toEqual([]);
  expect(standing("op_4", [{ status: "ready", last: "op_2" }])).toEqual([]);
  expect(standing("op_4", [{ status: "removed", last: "op_1" }])).toEqual([]);
});

it("explains an instance of which nothing is wrong but that its last operation failed", () => {
  const troubled = (last_operation_id: string, ...types: string[]) =>
    ({ last_operation_id, conditions: types.map((type) => ({ type })) }) as never;
  const failed = [{ id: "op_3" }] as never;
  expect(explained(troubled("op_3", "operation_failed"), failed)).toBe(true);
  expect(explained(troubled("op_4", "operation_failed"), failed)).toBe(false);
  expect(explained(troubled("op_3", "operation_failed", "unreachable"), failed)).toBe(false);
  expect(explained(troubled("op_3"), failed)).toBe(false);
});
