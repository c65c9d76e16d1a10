import { render, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { JsonView } from "../../../src/widgets/json-view.tsx";

function heads(): (string | null)[] {
  return screen.getAllByRole("columnheader").map(({ textContent }) => textContent);
}

describe("data an app says", () => {
  it("draws items that are alike as rows, what they are called first", () => {
    const nodes = [
      { cpus: "0/2", jobs: [], name: "a", up: true, reason: "" },
      { cpus: "1/2", jobs: ["7", "8"], name: "b", up: false, reason: "" },
    ];
    render(<JsonView value={{ nodes }} />);
    expect(heads()).toEqual(["Name", "CPUs", "Jobs", "Up"]);
    const rows = screen.getAllByRole("row").slice(1);
    expect(rows.map(({ textContent }) => textContent)).toEqual(["a0/2Nonetrue", "b1/278false"]);
  });

  it("takes the columns of all items together", () => {
    render(
      <JsonView
        value={[
          { id: "x", gate: "open" },
          { id: "y", extra: 1 },
        ]}
      />,
    );
    expect(heads()).toEqual(["Id", "Gate", "Extra"]);
    expect(screen.getAllByRole("row")[2]?.textContent).toBe("y–1");
  });

  it("keeps what has parts of its own below one another", () => {
    render(<JsonView value={[{ name: "a", inside: { deep: 1 } }]} />);
    expect(screen.queryByRole("table")).toBeNull();
    expect(screen.getByText("Deep")).toBeTruthy();
  });

  it("needs no table for one value each", () => {
    render(<JsonView value={[{ name: "main" }, { name: "long" }]} />);
    expect(screen.queryByRole("table")).toBeNull();
    expect(screen.getByText("long")).toBeTruthy();
  });

  it("says what is short first", () => {
    render(<JsonView value={{ paths: { bin: "/usr/bin" }, lines: "a\nb", account: "demo" }} />);
    const terms = screen.getAllByRole("term").map(({ textContent }) => textContent);
    expect(terms).toEqual(["Account", "Paths", "Bin", "Lines"]);
  });

  it("lets commands be copied, and sentences be read", () => {
    const value = [
      { does: "What is free?", command: "free --all" },
      { does: "Run something now", command: "run --now" },
    ];
    render(<JsonView value={value} copies />);
    const buttons = within(screen.getByRole("table")).getAllByRole("button");
    expect(buttons.map((one) => one.getAttribute("aria-label"))).toEqual([
      "Copy Command",
      "Copy Command",
    ]);
  });
});
