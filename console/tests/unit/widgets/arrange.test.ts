import { describe, expect, it } from "vitest";
import { arrange, type Column, sortingOf, sortingText } from "../../../src/widgets/arrange.ts";

interface Item {
  readonly name: string;
  readonly size: number;
}

const COLUMNS: readonly Column<Item>[] = [
  { id: "name", header: "Name", cell: ({ name }) => name, value: ({ name }) => name },
  { id: "size", header: "Size", cell: ({ size }) => size, value: ({ size }) => size },
  { id: "mute", header: "Mute", cell: () => "invisible" },
];
const ITEMS = [
  { name: "gpu-10", size: 3 },
  { name: "gpu-9", size: 20 },
  { name: "cpu-1", size: 1 },
];
const names = (text: string, order = "") =>
  arrange(ITEMS, COLUMNS, text, sortingOf(order)).map(({ name }) => name);

describe("a table", () => {
  it("finds every word in any column, and only in columns with a value", () => {
    expect(names("GPU 20")).toEqual(["gpu-9"]);
    expect(names("invisible")).toEqual([]);
    expect(names("  ")).toHaveLength(3);
  });

  it("sorts numbers as numbers, also inside names", () => {
    expect(names("", "name")).toEqual(["cpu-1", "gpu-9", "gpu-10"]);
    expect(names("", "-size")).toEqual(["gpu-9", "gpu-10", "cpu-1"]);
    expect(names("", "unknown")).toEqual(["gpu-10", "gpu-9", "cpu-1"]);
  });

  it("writes its order as the address has it", () => {
    expect(sortingText({ by: "size", descending: true })).toBe("-size");
    expect(sortingOf("-size")).toEqual({ by: "size", descending: true });
  });
});
