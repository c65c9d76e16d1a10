import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Problem } from "../../../src/api/problem.ts";
import { type Poller, type Reading, startPoller } from "../../../src/live/poller.ts";

const down = new Problem({
  status: 0,
  code: "unreachable",
  title: "down",
  detail: "down",
  correlationId: null,
});
const denied = new Problem({
  status: 403,
  code: "permission_denied",
  title: "no",
  detail: "no",
  correlationId: null,
});

const read = vi.fn<(signal: AbortSignal) => Promise<string>>();
let readings: Reading<string>[];
let poller: Poller;

async function start(): Promise<void> {
  poller = startPoller({ read, intervalMs: 5000, onReading: (reading) => readings.push(reading) });
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
  vi.spyOn(Math, "random").mockReturnValue(1);
  readings = [];
  read.mockReset().mockResolvedValue("a");
});

afterEach(() => {
  poller.stop();
  vi.useRealTimers();
});

describe("a poller", () => {
  it("reads at once and then at its interval", async () => {
    await start();
    expect(readings).toEqual([
      { value: "a", readAt: 1000, problem: null, connection: "live", retryAt: null },
    ]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(read).toHaveBeenCalledTimes(3);
  });

  it("keeps the last value while the platform does not answer, backs off and heals", async () => {
    await start();
    read.mockRejectedValue(down);
    await vi.advanceTimersByTimeAsync(5000);
    expect(readings.at(-1)).toEqual({
      value: "a",
      readAt: 1000,
      problem: down,
      connection: "reconnecting",
      retryAt: 6500,
    });
    await vi.advanceTimersByTimeAsync(500 + 1000);
    expect(readings.at(-1)).toMatchObject({ connection: "offline", value: "a", readAt: 1000 });
    read.mockResolvedValue("b");
    poller.readNow();
    await vi.advanceTimersByTimeAsync(0);
    expect(readings.at(-1)).toMatchObject({ value: "b", problem: null, connection: "live" });
  });

  it("is live, with a problem, when the platform answers with one", async () => {
    read.mockRejectedValue(denied);
    await start();
    expect(readings.at(-1)).toMatchObject({ problem: denied, connection: "live", retryAt: null });
  });

  it("rests while the page is hidden and reads when it is shown again", async () => {
    await start();
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(read).toHaveBeenCalledTimes(1);
    hidden.mockReturnValue(false);
    document.dispatchEvent(new Event("visibilitychange"));
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("drops the answer of a read that a newer one has overtaken", async () => {
    let answerFirst: (value: string) => void = () => undefined;
    read.mockReturnValueOnce(
      new Promise((resolve) => {
        answerFirst = resolve;
      }),
    );
    await start();
    poller.readNow();
    answerFirst("old");
    await vi.advanceTimersByTimeAsync(0);
    expect(readings.map(({ value }) => value)).toEqual(["a"]);
  });

  it("leaves nothing behind when stopped", async () => {
    await start();
    poller.stop();
    window.dispatchEvent(new Event("online"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(read).toHaveBeenCalledTimes(1);
  });
});
