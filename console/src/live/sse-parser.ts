/** Turns the text of a `text/event-stream` into events, whatever the chunks it comes in. Pure; used by
 * event-stream.ts. Follows the WHATWG rules: CR, LF and CRLF end a line, a comment is skipped, an
 * event without data is not dispatched, the last id stays until another one comes. */

export interface StreamEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

export interface SseParser {
  /** Feeds a chunk; returns the events it completed. */
  push(chunk: string): StreamEvent[];
  /** The last id seen, for `Last-Event-ID`; empty when there was none. */
  readonly lastEventId: string;
  /** The reconnection time the server asked for, if it did. */
  readonly retryMs: number | null;
}

export function createSseParser(lastEventId = ""): SseParser {
  let buffer = "";
  let atStart = true;
  let pendingId = lastEventId;
  let committedId = lastEventId;
  let type = "";
  let data: string[] = [];
  let retryMs: number | null = null;

  function takeLine(line: string): StreamEvent | null {
    if (line === "") return dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    if (colon < 0) takeField(line, "");
    else takeField(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
    return null;
  }

  function takeField(field: string, value: string): void {
    if (field === "data") data.push(value);
    else if (field === "event") type = value;
    else if (field === "id" && !value.includes("\0")) pendingId = value;
    else if (field === "retry" && /^\d+$/.test(value)) retryMs = Number(value);
  }

  function dispatch(): StreamEvent | null {
    committedId = pendingId;
    const event = { id: committedId, type: type || "message", data: data.join("\n") };
    const empty = data.length === 0;
    type = "";
    data = [];
    return empty ? null : event;
  }

  return {
    push(chunk) {
      buffer += chunk;
      if (atStart && buffer !== "") {
        buffer = buffer.replace(/^\uFEFF/, "");
        atStart = false;
      }
      // A CR at the very end may be half of a CRLF: it waits for the next chunk.
      const lines = buffer.split(/\r\n|\n|\r(?!$)/);
      buffer = lines.pop() ?? "";
      return lines.map(takeLine).filter((event) => event !== null);
    },
    get lastEventId() {
      return committedId;
    },
    get retryMs() {
      return retryMs;
    },
  };
}
