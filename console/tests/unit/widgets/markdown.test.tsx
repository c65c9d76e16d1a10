import { render, screen, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { blocks, Markdown } from "../../../src/widgets/markdown.tsx";

describe("markdown of an app", () => {
  it("has headings, lists, code and paragraphs", () => {
    const text = "# One\n\nTwo\nthree\n\n- a\n- b\n\n```\ncode  here\n```\nend";
    expect(blocks(text)).toEqual([
      { kind: "heading", level: 1, text: "One" },
      { kind: "paragraph", text: "Two three" },
      { kind: "list", ordered: false, items: ["a", "b"] },
      { kind: "code", text: "code  here" },
      { kind: "paragraph", text: "end" },
    ]);
  });

  it("has tables, whose commands can be copied", () => {
    const text = "Use it:\n\n| to | run |\n|---|:-:|\n| look | `a | b` |\n|| x \\| y |\nend";
    expect(blocks(text)).toEqual([
      { kind: "paragraph", text: "Use it:" },
      {
        kind: "table",
        head: ["to", "run"],
        rows: [
          ["look", "`a | b`"],
          ["", "x | y"],
        ],
      },
      { kind: "paragraph", text: "end" },
    ]);
    render(<Markdown text={text} />);
    const table = screen.getByRole("table");
    expect(within(table).getAllByRole("columnheader")).toHaveLength(2);
    expect(within(table).getByRole("button", { name: "Copy a | b" })).toBeTruthy();
  });

  it("takes bars without a line of dashes for text", () => {
    expect(blocks("| a | b |\n| c | d |")).toEqual([
      { kind: "paragraph", text: "| a | b | | c | d |" },
    ]);
  });

  it("leads to the web and nowhere else, and is never markup", () => {
    render(
      <Markdown text={"[ok](https://example.org) [no](javascript:alert) <img src=x onerror=y>"} />,
    );
    expect(screen.getByRole("link", { name: /ok/ }).getAttribute("href")).toBe(
      "https://example.org",
    );
    expect(screen.queryByRole("img")).toBeNull();
    expect(screen.getByText(/<img src=x onerror=y>/)).toBeTruthy();
    expect(screen.getAllByRole("link")).toHaveLength(1);
  });
});
