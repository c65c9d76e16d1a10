import { render, screen } from "@testing-library/react";
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
