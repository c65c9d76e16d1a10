import { describe, expect, it } from "vitest";
import { createSseParser, type StreamEvent } from "../../../src/live/sse-parser.ts";

function parse(...chunks: string[]): StreamEvent[] {
  const parser = createSseParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

describe("the stream's grammar", () => {
  it("joins data lines and names the type", () => {
    expect(parse("id: 7\nevent: apps.instance.running\ndata: a\ndata:b\n\n")).toEqual([
      { id: "7", type: "apps.instance.running", data: "a\nb" },
    ]);
  });

  it("takes one space off a value, and only one", () => {
    expect(parse("data:  x\n\n")[0]?.data).toBe(" x");
  });

  it("skips comments, unknown fields and events without data", () => {
    expect(parse(": ping\n\nfoo: bar\n\nevent: x\n\ndata\n\n")).toEqual([
      { id: "", type: "message", data: "" },
    ]);
  });

  it("keeps the last id for events that bring none", () => {
    expect(parse("id: 1\ndata: a\n\ndata: b\n\n").map(({ id }) => id)).toEqual(["1", "1"]);
  });

  it("does not take an id with NUL, nor a retry that is no number", () => {
    const parser = createSseParser("5");
    parser.push("id: 6\0\nretry: 1s\ndata: x\n\n");
    expect(parser.lastEventId).toBe("5");
    expect(parser.retryMs).toBeNull();
  });

  it("reads retry", () => {
    const parser = createSseParser();
    parser.push("retry: 2500\n");
    expect(parser.retryMs).toBe(2500);
  });

  it("counts an event as seen only when it is complete", () => {
    const parser = createSseParser("1");
    parser.push("id: 2\ndata: half");
    expect(parser.lastEventId).toBe("1");
    parser.push("\n\n");
    expect(parser.lastEventId).toBe("2");
  });

  it("drops a byte order mark", () => {
    expect(parse("\uFEFFdata: x\n\n")).toHaveLength(1);
  });
});

describe.each(["\n", "\r\n", "\r"])("lines that end in %j", (end) => {
  const text = `${["id: 1", "event: a", "data: x", "data: y", "", ": c", "id: 2", "data: z", "", "data: q"].join(end)}${end}`;
  const whole = parse(text, "data: after\n\n");

  it("give the same events wherever the chunks are cut", () => {
    expect(whole.map(({ data }) => data)).toEqual(["x\ny", "z", "q\nafter"]);
    for (let cut = 0; cut <= text.length; cut++) {
      expect(parse(text.slice(0, cut), text.slice(cut), "data: after\n\n")).toEqual(whole);
    }
    expect(parse(...text, "data: after\n\n")).toEqual(whole);
  });
});
