/** What the build must keep to: its weight, its files, and the policy it is served with. Reads dist/. */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const DIST = join(import.meta.dirname, "../../dist");
const FIRST_LOAD_BYTES = 700_000;
const TEXT = /\.(css|html|js|svg)$/;

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
  readonly css?: readonly string[];
  readonly assets?: readonly string[];
}

if (!existsSync(join(DIST, "index.html"))) throw new Error("there is no build: npm run build");

const manifest = JSON.parse(read(".vite/manifest.json")) as Readonly<Record<string, Chunk>>;
const files = readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((name) =>
  statSync(join(DIST, name)).isFile(),
);
const texts = files.filter((name) => TEXT.test(name));

describe("a first load", () => {
  const entry = chunk("index.html");
  const shell = closure("index.html");

  it.each(entry.dynamicImports ?? [])("that lands on %s keeps to the budget", (page) => {
    const wanted = new Set(["index.html", ...shell, ...closure(page), ...fonts()]);
    for (const encoding of [".br", ".gz"]) {
      const bytes = [...wanted].reduce((sum, name) => sum + transferSize(name, encoding), 0);
      expect(bytes, `${page} with ${encoding}`).toBeLessThan(FIRST_LOAD_BYTES);
    }
  });

  it("has a chunk for every page", () => {
    expect(entry.dynamicImports).toEqual(
      expect.arrayContaining(
        readdirSync(join(DIST, "../src/pages")).map((page) => `src/pages/${page}/index.tsx`),
      ),
    );
  });
});

describe("the files", () => {
  it("carry a hash in their name, so that they can be cached for ever", () => {
    for (const name of files.filter((file) => file.startsWith("assets/"))) {
      expect(name).toMatch(/-[\w-]{8}\.\w+(\.br|\.gz)?$/);
    }
  });

  it.each(texts)("%s lies there compressed too, and smaller", (name) => {
    for (const encoding of [".br", ".gz"]) {
      expect(size(name + encoding)).toBeLessThan(size(name));
    }
  });
});

describe("under default-src 'self'", () => {
  it("no page has an inline script, style or handler", () => {
    const page = read("index.html");
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)/);
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i);
  });

  it.each(texts)("%s asks nothing of another host", (name) => {
    const text = read(name);
    expect(text).not.toMatch(/(?:src|href)=["'](?:https?:)?\/\//);
    expect(text).not.toMatch(/url\(\s*["']?(?:https?:|\/\/|data:)|@import/);
    expect(text).not.toMatch(
      /(?:fetch|import|sendBeacon|WebSocket|EventSource)\(["'`](?:https?|wss?):/,
    );
  });

  it.each(texts.filter((name) => name.endsWith(".js")))("%s makes no code from text", (name) => {
    expect(read(name)).not.toMatch(/\beval\(|new Function\(/);
  });
});

function chunk(key: string): Chunk {
  const found = manifest[key];
  if (found === undefined) throw new Error(`the manifest has no ${key}`);
  return found;
}

/** The files that a chunk needs before it can run. */
function closure(key: string, seen = new Set<string>()): Set<string> {
  if (seen.has(key)) return new Set();
  seen.add(key);
  const { file, css = [], assets = [], imports = [] } = chunk(key);
  const needed = new Set([file, ...css, ...assets]);
  for (const name of imports.flatMap((other) => [...closure(other, seen)])) needed.add(name);
  return needed;
}

/** All of them, though a page fetches only the weights it shows. */
function fonts(): string[] {
  return files.filter((name) => name.endsWith(".woff2"));
}

function transferSize(name: string, encoding: string): number {
  return TEXT.test(name) ? size(name + encoding) : size(name);
}

function size(name: string): number {
  return statSync(join(DIST, name)).size;
}

function read(name: string): string {
  return readFileSync(join(DIST, name), "utf8");
}
