import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Poller, startPoller } from "../../../src/live/poller.ts";

let poller: Poller;
let value: string;
const shown: (string | null)[] = [];

function pointer(type: string): void {
  document.body.dispatchEvent(new Event(type, { bubbles: true }));
}

beforeEach(async () => {
  vi.useFakeTimers();
  shown.length = 0;
  value = "before";
  poller = startPoller({
    read: () => Promise.resolve(value),
    intervalMs: 100,
    onReading: (reading) => shown.push(reading.value),
  });
  await vi.advanceTimersByTimeAsync(0);
  value = "after";
});

afterEach(() => {
  poller.stop();
  vi.useRealTimers();
});

describe("a page that is pressed", () => {
  it.each(["pointerup", "pointercancel"])("changes when its click is over: %s", async (end) => {
    pointer("pointerdown");
    await vi.advanceTimersByTimeAsync(300);
    expect(shown).toEqual(["before"]);
    pointer(end);
    expect(shown).toEqual(["before"]);
    await vi.advanceTimersByTimeAsync(0);
    expect(shown).toEqual(["before", "after"]);
  });

  it("does not stand still for as long as text is selected", async () => {
    pointer("pointerdown");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(shown.at(-1)).toBe("after");
  });

  it("hears of its scroll when its click is over, once", async () => {
    const heard = vi.fn();
    window.addEventListener("scroll", heard);
    document.dispatchEvent(new Event("scroll", { bubbles: true }));
    expect(heard).toHaveBeenCalledTimes(1);
    pointer("pointerdown");
    document.dispatchEvent(new Event("scroll", { bubbles: true }));
    document.dispatchEvent(new Event("scroll", { bubbles: true }));
    pointer("pointerup");
    expect(heard).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(heard).toHaveBeenCalledTimes(2);
    window.removeEventListener("scroll", heard);
  });

  it("lets a part of it scroll on", () => {
    const heard = vi.fn();
    document.body.addEventListener("scroll", heard);
    pointer("pointerdown");
    document.body.dispatchEvent(new Event("scroll"));
    expect(heard).toHaveBeenCalledTimes(1);
    pointer("pointerup");
    document.body.removeEventListener("scroll", heard);
  });

  it("takes a second press for one of its own", async () => {
    pointer("pointerdown");
    await vi.advanceTimersByTimeAsync(900);
    pointer("pointerdown");
    await vi.advanceTimersByTimeAsync(0);
    const held = shown.length;
    await vi.advanceTimersByTimeAsync(500);
    expect(shown.length).toBe(held);
    pointer("pointerup");
    await vi.advanceTimersByTimeAsync(0);
    expect(shown.length).toBe(held + 1);
  });
});
