import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Problem } from "../../../src/api/problem.ts";
import type { ConnectionState } from "../../../src/live/connection.ts";
import { type EventStreamOptions, openEventStream } from "../../../src/live/event-stream.ts";
import { problem } from "../fake-platform.ts";

/** One request the client made, and the hand that feeds it. */
class Connection {
  readonly headers: Headers;
  readonly signal: AbortSignal;
  readonly #resolve: (response: Response) => void;
  readonly #reject: (reason: unknown) => void;
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(
    init: RequestInit,
    resolve: (response: Response) => void,
    reject: (reason: unknown) => void,
  ) {
    this.headers = new Headers(init.headers);
    this.signal = init.signal ?? new AbortController().signal;
    this.#resolve = resolve;
    this.#reject = reject;
    this.signal.addEventListener("abort", () => this.break());
  }

  accept(contentType = "text/event-stream"): void {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#body = controller;
      },
    });
    this.#resolve(new Response(body, { headers: { "Content-Type": contentType } }));
  }

  answer(response: Response): void {
    this.#resolve(response);
  }

  send(text: string | Uint8Array): void {
    this.#body?.enqueue(typeof text === "string" ? new TextEncoder().encode(text) : text);
  }

  end(): void {
    this.#body?.close();
  }

  break(): void {
    const reason = new TypeError("network error");
    this.#body?.error(reason);
    this.#reject(reason);
  }
}

let connections: Connection[];
let states: ConnectionState[];
let received: string[];
let refused: Problem[];
let close: () => void;

function open(options: Partial<EventStreamOptions> = {}): void {
  close = openEventStream({
    url: "/events",
    silenceMs: 45_000,
    onEvent: ({ id, data }) => received.push(`${id}:${data}`),
    onState: (state) => states.push(state),
    onRefused: (why) => refused.push(why),
    ...options,
  });
}

/** The n-th request, from 0; there is no further one. */
function connectionAt(index: number): Connection {
  const connection = connections[index];
  if (connection === undefined || connections.length !== index + 1) {
    throw new Error(`wanted request ${index}, there are ${connections.length}`);
  }
  return connection;
}

async function settle(ms = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

beforeEach(() => {
  vi.useFakeTimers();
  connections = [];
  states = [];
  received = [];
  refused = [];
  vi.spyOn(Math, "random").mockReturnValue(1);
  vi.stubGlobal(
    "fetch",
    (_url: string, init: RequestInit) =>
      new Promise<Response>((resolve, reject) => {
        connections.push(new Connection(init, resolve, reject));
      }),
  );
});

afterEach(() => {
  close();
  vi.useRealTimers();
});

describe("a stream that lives", () => {
  it("asks for events with a correlation id and delivers them in order", async () => {
    open();
    const connection = connectionAt(0);
    expect(connection.headers.get("Accept")).toBe("text/event-stream");
    expect(connection.headers.get("X-Correlation-ID")).toMatch(/^web_/);
    expect(connection.headers.has("Last-Event-ID")).toBe(false);
    connection.accept();
    connection.send("id: 1\ndata: a\n\nid: 2\nda");
    connection.send("ta: b\n\n");
    await settle();
    expect(received).toEqual(["1:a", "2:b"]);
    expect(states).toEqual(["live"]);
  });

  it("decodes characters that are cut between chunks", async () => {
    open();
    connectionAt(0).accept();
    const bytes = new TextEncoder().encode("data: é\n\n");
    connectionAt(0).send(bytes.slice(0, 7));
    connectionAt(0).send(bytes.slice(7));
    await settle();
    expect(received).toEqual([":é"]);
  });

  it("goes on when a listener makes a mistake, and reports it", async () => {
    const mistake = new Error("mistake");
    const reported = vi.fn();
    vi.stubGlobal("reportError", reported);
    const onEvent = vi.fn().mockImplementationOnce(() => {
      throw mistake;
    });
    open({ onEvent });
    connectionAt(0).accept();
    connectionAt(0).send("data: a\n\ndata: b\n\n");
    await settle();
    expect(onEvent).toHaveBeenCalledTimes(2);
    expect(reported).toHaveBeenCalledExactlyOnceWith(mistake);
    expect(states).toEqual(["live"]);
  });
});

describe("a stream that breaks", () => {
  it("resumes behind the last event it saw", async () => {
    open({ lastEventId: "40" });
    expect(connectionAt(0).headers.get("Last-Event-ID")).toBe("40");
    connectionAt(0).accept();
    connectionAt(0).send("id: 41\ndata: a\n\nid: 42\ndata: half");
    await settle();
    connectionAt(0).break();
    await settle();
    expect(states).toEqual(["live", "reconnecting"]);
    await settle(500);
    expect(connectionAt(1).headers.get("Last-Event-ID")).toBe("41");
    connectionAt(1).accept();
    await settle();
    expect(states.at(-1)).toBe("live");
  });

  it("also comes back after a clean end", async () => {
    open();
    connectionAt(0).accept();
    connectionAt(0).end();
    await settle(500);
    connectionAt(1);
  });

  it("waits longer each time, says offline, and never stops trying", async () => {
    open();
    const waits = [500, 1000, 2000, 4000, 8000, 15_000, 15_000];
    for (const [index, wait] of waits.entries()) {
      connectionAt(index).break();
      await settle(wait - 1);
      connectionAt(index);
      await settle(1);
      connectionAt(index + 1);
    }
    expect(states.slice(0, 3)).toEqual(["reconnecting", "reconnecting", "offline"]);
  });

  it("starts counting anew once it has heard something", async () => {
    open();
    for (const index of [0, 1, 2]) {
      connectionAt(index).break();
      await settle(2000);
    }
    connectionAt(3).accept();
    connectionAt(3).send(": ping\n\n");
    await settle();
    connectionAt(3).break();
    await settle();
    expect(states.at(-1)).toBe("reconnecting");
    await settle(500);
    connectionAt(4);
  });

  it("does not hammer a platform that accepts and hangs up", async () => {
    open();
    connectionAt(0).accept();
    connectionAt(0).end();
    await settle(500);
    connectionAt(1).accept();
    connectionAt(1).end();
    await settle(999);
    connectionAt(1);
  });

  it("waits as long as the platform asks: retry in the stream, Retry-After in a refusal", async () => {
    open();
    connectionAt(0).accept();
    connectionAt(0).send("retry: 3000\n\n");
    await settle();
    connectionAt(0).break();
    await settle(2999);
    connectionAt(0);
    await settle(1);
    connectionAt(1).answer(problem(503, "shutting_down", {}, { "Retry-After": "20" }));
    await settle(19_999);
    connectionAt(1);
    await settle(1);
    connectionAt(2);
    expect(refused).toEqual([]);
  });

  it("takes silence for death", async () => {
    open();
    connectionAt(0).accept();
    await settle(44_000);
    connectionAt(0).send(": ping\n\n");
    await settle(44_999);
    expect(connectionAt(0).signal.aborted).toBe(false);
    await settle(1);
    expect(connectionAt(0).signal.aborted).toBe(true);
    await settle(500);
    connectionAt(1);
  });

  it("tries at once when the browser is back on the network", async () => {
    const onLine = vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    open();
    connectionAt(0).break();
    await settle();
    expect(states).toEqual(["offline"]);
    onLine.mockReturnValue(true);
    window.dispatchEvent(new Event("online"));
    await settle();
    connectionAt(1);
  });
});

describe("a stream that is over", () => {
  it("stays closed when the platform refuses it, and says why", async () => {
    open();
    connectionAt(0).answer(problem(403, "permission_denied"));
    await settle(60_000);
    connectionAt(0);
    expect(refused).toMatchObject([{ code: "permission_denied" }]);
    expect(states).toEqual([]);
  });

  it("does not take a page for a stream", async () => {
    open();
    connectionAt(0).accept("text/html");
    await settle(60_000);
    connectionAt(0);
    expect(refused).toMatchObject([{ code: "unexpected_answer" }]);
  });

  it.each(["while connected", "while waiting"])(
    "closes %s and is silent from then on",
    async (when) => {
      open();
      if (when === "while connected") connectionAt(0).accept();
      else connectionAt(0).break();
      await settle();
      const before = [...states];
      close();
      await settle(60_000);
      expect(connectionAt(0).signal.aborted).toBe(true);
      expect(states).toEqual(before);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});
