import { afterEach, describe, expect, it, vi } from "vitest";
import { backoffDelay } from "../../../src/live/backoff.ts";
import {
  connection,
  connectionForget,
  connectionReport,
  stateAfterFailures,
} from "../../../src/live/connection.ts";

afterEach(() => {
  connectionForget("a");
  connectionForget("b");
});

describe("the connection shown", () => {
  it("claims nothing while nothing is watched", () => {
    expect(connection.get()).toBeNull();
  });

  it("is the worst that any reader reports", () => {
    connectionReport("a", "live");
    connectionReport("b", "offline");
    expect(connection.get()).toBe("offline");
    connectionReport("b", "reconnecting");
    expect(connection.get()).toBe("reconnecting");
    connectionForget("b");
    expect(connection.get()).toBe("live");
  });

  it("tells only of changes", () => {
    const listener = vi.fn();
    const stop = connection.subscribe(listener);
    connectionReport("a", "live");
    connectionReport("a", "live");
    stop();
    connectionReport("a", "offline");
    expect(listener).toHaveBeenCalledOnce();
  });
});

describe("after failures", () => {
  it("it is reconnecting at first and offline in the end", () => {
    expect([1, 2, 3, 9].map(stateAfterFailures)).toEqual([
      "reconnecting",
      "reconnecting",
      "offline",
      "offline",
    ]);
  });

  it("the wait doubles up to its cap, is spread, and respects the server's floor", () => {
    expect([1, 2, 3, 20].map((n) => backoffDelay(n, 0, () => 1))).toEqual([
      500, 1000, 2000, 15_000,
    ]);
    expect(backoffDelay(1, 0, () => 0)).toBe(250);
    expect(backoffDelay(1, 9000, () => 0)).toBe(9000);
  });
});
