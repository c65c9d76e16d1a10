/** The little markdown an app may write: headings, lists, tables, code, emphasis, links to the web. Everything
 * else is text; nothing in it becomes markup of ours. */

import Link from "@cloudscape-design/components/link";
import { Fragment, type ReactNode } from "react";
import { Copy, CopyBlock } from "./copy.tsx";
import { PlainTable } from "./plain-table.tsx";

export function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      {blocks(text).map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block of fixed text is known by its place
        <Fragment key={at}>{drawBlock(block)}</Fragment>
      ))}
    </div>
  );
}

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly string[] }
  | { readonly kind: "table"; readonly head: Cells; readonly rows: readonly Cells[] }
  | { readonly kind: "paragraph"; readonly text: string };

type Cells = readonly string[];

/** The blocks of a text. Pure. */
export function blocks(text: string): Block[] {
  const found: Block[] = [];
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  for (let at = 0; at < lines.length; ) {
    const { block, length } = blockAt(lines, at);
    if (block !== null) found.push(block);
    at += length;
  }
  return found;
}

/** The block that begins at a line, and how many lines it takes. */
function blockAt(lines: readonly string[], at: number): { block: Block | null; length: number } {
  const line = lines[at] ?? "";
  if (line.trim() === "") return { block: null, length: 1 };
  if (line.startsWith("```")) return codeAt(lines, at);
  const heading = /^(#{1,4})\s+(.*)$/.exec(line);
  if (heading) {
    const level = heading[1]?.length ?? 1;
    return { block: { kind: "heading", level, text: heading[2] ?? "" }, length: 1 };
  }
  if (isTable(lines, at)) {
    const taken = takeWhile(lines, at, isRow);
    const [head = [], , ...rows] = taken.map(cellsOf);
    return { block: { kind: "table", head, rows }, length: taken.length };
  }
  const listed = isItem(line);
  const taken = takeWhile(lines, at, listed ? isItem : isPlain);
  const block: Block = listed ? asList(taken) : { kind: "paragraph", text: taken.join(" ") };
  return { block, length: taken.length };
}

function codeAt(lines: readonly string[], at: number): { block: Block; length: number } {
  const end = lines.findIndex((one, index) => index > at && one.startsWith("```"));
  const stop = end < 0 ? lines.length : end;
  return {
    block: { kind: "code", text: lines.slice(at + 1, stop).join("\n") },
    length: stop + 1 - at,
  };
}

const RULE = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;

/** A row of titles above a line of dashes. */
function isTable(lines: readonly string[], at: number): boolean {
  return isRow(lines[at] ?? "") && RULE.test(lines[at + 1] ?? "");
}

function isRow(line: string): boolean {
  return /^\s*\|.*\|\s*$/.test(line);
}

/** What stands between the bars; a bar in code or behind a backslash is one of the text. */
function cellsOf(line: string): Cells {
  const inner = `${line.trim().slice(1, -1)}|`;
  return (inner.match(/(?:`[^`]*`|\\\||[^|])*\|/g) ?? []).map((cell) =>
    cell.slice(0, -1).replaceAll("\\|", "|").trim(),
  );
}

const ITEM = /^\s*(?:[-*]|\d+\.)\s+/;

function isItem(line: string): boolean {
  return ITEM.test(line);
}

function isPlain(line: string): boolean {
  return (
    line.trim() !== "" && !ITEM.test(line) && !line.startsWith("```") && !/^#{1,4}\s/.test(line)
  );
}

function takeWhile(lines: readonly string[], from: number, wanted: (line: string) => boolean) {
  const end = lines.findIndex((line, at) => at > from && !wanted(line));
  return lines.slice(from, end < 0 ? lines.length : end);
}

function asList(lines: readonly string[]): Block {
  return {
    kind: "list",
    ordered: /^\s*\d/.test(lines[0] ?? ""),
    items: lines.map((line) => line.replace(ITEM, "")),
  };
}

function drawBlock(block: Block): ReactNode {
  switch (block.kind) {
    case "heading":
      return <h4>{inline(block.text)}</h4>;
    case "code":
      return <CopyBlock text={block.text} what="code" />;
    case "list": {
      const Tag = block.ordered ? "ol" : "ul";
      return (
        <Tag className="plain-list">
          {block.items.map((item) => (
            <li key={item}>{inline(item)}</li>
          ))}
        </Tag>
      );
    }
    case "table":
      return (
        <PlainTable
          label={block.head.join(", ")}
          head={block.head.map(inline)}
          rows={block.rows.map((cells) => cells.map(drawCell))}
        />
      );
    default:
      return <p>{inline(block.text)}</p>;
  }
}

/** A cell that holds nothing but code is there to be copied. */
function drawCell(text: string): ReactNode {
  const code = /^`([^`]+)`$/.exec(text)?.[1];
  return code === undefined ? inline(text) : <Copy text={code} what={code} />;
}

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/;

function inline(text: string): ReactNode[] {
  return text.split(INLINE).map((part, at) => {
    const key = `${at}:${part}`;
    const link = /^\[([^\]]+)\]\(([^)\s]+)\)$/.exec(part);
    if (/^`[^`]+`$/.test(part)) return <code key={key}>{part.slice(1, -1)}</code>;
    if (/^\*\*[^*]+\*\*$/.test(part)) return <b key={key}>{part.slice(2, -2)}</b>;
    if (link && isWeb(link[2] ?? "")) {
      return (
        <Link key={key} href={link[2] ?? ""} external>
          {link[1]}
        </Link>
      );
    }
    return part;
  });
}

/** Only addresses of the web: a text from an app can lead nowhere else. */
export function isWeb(address: string): boolean {
  return /^https?:\/\//.test(address);
}
