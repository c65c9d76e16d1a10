import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { refresh } from "../../../src/live/events.ts";
import { forgetReadings, useLive } from "../../../src/live/use-live.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  forgetReadings();
  vi.useRealTimers();
});

function Shown({ of, read }: { of: string | null; read: () => Promise<string> }) {
  const { value, loading, problem } = useLive(of, read);
  return <p>{loading ? "loading" : (value ?? problem?.code ?? "nothing")}</p>;
}

async function settle(milliseconds = 0): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(milliseconds));
}

describe("something that is kept current", () => {
  it("is read at once, and again when anything may have changed, once for many hints", async () => {
    let count = 0;
    const read = vi.fn(async () => `reading ${++count}`);
    render(<Shown of="a" read={read} />);
    expect(screen.getByText("loading")).toBeTruthy();
    await settle();
    expect(screen.getByText("reading 1")).toBeTruthy();
    refresh();
    refresh();
    refresh();
    await settle(500);
    expect(screen.getByText("reading 2")).toBeTruthy();
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("shows at once what was read of it before, and forgets it when told", async () => {
    const first = render(<Shown of="b" read={async () => "known"} />);
    await settle();
    first.unmount();
    const second = render(<Shown of="b" read={() => new Promise(() => undefined)} />);
    expect(screen.getByText("known")).toBeTruthy();
    second.unmount();
    forgetReadings();
    render(<Shown of="b" read={() => new Promise(() => undefined)} />);
    expect(screen.getByText("loading")).toBeTruthy();
  });

  it("goes on after a read that was cut off", async () => {
    const outcomes = [
      () => Promise.reject(new DOMException("cut", "TimeoutError")),
      () => Promise.resolve("well again"),
    ];
    render(<Shown of="c" read={() => (outcomes.shift() ?? (() => Promise.resolve("last")))()} />);
    await settle();
    expect(screen.getByText("unreachable")).toBeTruthy();
    await settle(2_000);
    expect(screen.getByText("well again")).toBeTruthy();
  });

  it("is read once for all who show it, as long as one of them is there", async () => {
    let count = 0;
    const read = vi.fn(async () => `reading ${++count}`);
    const first = render(<Shown of="d" read={read} />);
    const second = render(<Shown of="d" read={read} />);
    await settle();
    expect(screen.getAllByText("reading 1")).toHaveLength(2);
    first.unmount();
    refresh();
    await settle(500);
    expect(screen.getByText("reading 2")).toBeTruthy();
    second.unmount();
    await settle(60_000);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("stays the very thing it was when it was read again and is the same", async () => {
    const values = new Set<object | null>();
    function Watched() {
      values.add(useLive("e", async () => ({ name: "same" })).value);
      return null;
    }
    render(<Watched />);
    await settle();
    refresh();
    await settle(500);
    expect(values.size).toBe(2); // nothing, then one and the same
  });

  it("reads nothing while it is not known what", async () => {
    const read = vi.fn(async () => "never");
    render(<Shown of={null} read={read} />);
    await settle(60_000);
    expect(read).not.toHaveBeenCalled();
  });
});
