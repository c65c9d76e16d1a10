import { act, render, screen } from "@testing-library/react";
import { type ReactNode, Suspense } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { useThrownAway } from "../../../src/live/ahead.ts";
import { refresh } from "../../../src/live/events.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import { rowOf, useList } from "../../../src/live/use-list.ts";
import { useLive } from "../../../src/live/use-live.ts";
import { Later, Page } from "../../../src/widgets/page.tsx";

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

describe("a page on its way", () => {
  function Named({ read }: { read: () => Promise<string> }) {
    const { value, loading } = useLive("f", read);
    return <Page title={loading ? "unknown" : (value ?? "")}>{null}</Page>;
  }

  function open(read: () => Promise<string>): void {
    render(
      <Suspense fallback={<p>before</p>}>
        <Named read={read} />
      </Suspense>,
    );
  }

  it("is drawn once, with what it reads, which is asked for once", async () => {
    const read = vi.fn(async () => "known");
    await act(async () => open(read));
    await settle(10);
    expect(screen.getByRole("heading", { name: "known" })).toBeTruthy();
    await settle(500);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it("reads again when something happened before it could hear of it", async () => {
    const read = vi.fn(async () => {
      await Promise.resolve();
      if (read.mock.calls.length === 1) refresh();
      return "known";
    });
    await act(async () => open(read));
    await settle(10);
    expect(screen.getByRole("heading", { name: "known" })).toBeTruthy();
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("is waited for a moment, and then says that it reads", async () => {
    await act(async () => open(() => new Promise(() => undefined)));
    expect(screen.getByText("before")).toBeTruthy();
    await settle(1_000);
    expect(screen.getByRole("heading", { name: "unknown" })).toBeTruthy();
  });

  function Part({ name, after, drawn }: { name: string; after: number; drawn: () => void }) {
    const part = useLive(`part:${name}`, async () => {
      await new Promise((done) => setTimeout(done, after));
      return name;
    });
    const thrownAway = useThrownAway();
    if (part.loading && thrownAway) return null;
    drawn();
    return <p>{part.value ?? `${name} is read`}</p>;
  }

  function openParts(parts: ReactNode): Promise<void> {
    return act(async () => {
      render(
        <Suspense fallback={<p>before</p>}>
          <Page title="parts">{parts}</Page>
        </Suspense>,
      );
    });
  }

  it("waits for all of its parts together, and draws none of them in vain", async () => {
    const drawn = vi.fn();
    await openParts([
      <Part key="one" name="one" after={20} drawn={drawn} />,
      <Part key="two" name="two" after={60} drawn={drawn} />,
    ]);
    await settle(30);
    expect(screen.getByText("before")).toBeTruthy();
    await settle(50);
    expect(screen.getByText("one")).toBeTruthy();
    expect(screen.getByText("two")).toBeTruthy();
    expect(drawn).toHaveBeenCalledTimes(2);
  });

  it("does not wait for what comes later, which waits for itself", async () => {
    await openParts(
      <Later>
        <Part name="below" after={60} drawn={() => undefined} />
      </Later>,
    );
    expect(screen.getByRole("heading", { name: "parts" })).toBeTruthy();
    await settle(30);
    expect(screen.queryByText(/below/)).toBeNull();
    await settle(60);
    expect(screen.getByText("below")).toBeTruthy();
  });

  it("waits for nothing that is known from elsewhere", async () => {
    function Known() {
      const { value } = useLive("g", () => new Promise<string>(() => undefined), {
        seed: () => "from a list",
      });
      return <Page title={value ?? ""}>{null}</Page>;
    }
    await act(async () => {
      render(
        <Suspense fallback={<p>before</p>}>
          <Known />
        </Suspense>,
      );
    });
    expect(screen.getByRole("heading", { name: "from a list" })).toBeTruthy();
  });

  it("waits only with what comes later for what the first screen can do without", async () => {
    function Names() {
      const names = useLive(
        "names",
        () => new Promise<string>((done) => setTimeout(done, 60, "n")),
        {
          later: true,
        },
      );
      return (
        <Page title="first">
          <Later>
            <p>{`called ${names.value}`}</p>
          </Later>
        </Page>
      );
    }
    await act(async () => {
      render(
        <Suspense fallback={<p>before</p>}>
          <Names />
        </Suspense>,
      );
    });
    expect(screen.getByRole("heading", { name: "first" })).toBeTruthy();
    await settle(30);
    expect(screen.queryByText(/called/)).toBeNull();
    await settle(60);
    expect(screen.getByText("called n")).toBeTruthy();
  });
});

describe("a row of a list", () => {
  interface Row {
    readonly id: string;
    readonly name: string;
  }

  function List() {
    useList<Row>("rows:here", async () => ({ items: [{ id: "row_1", name: "from the list" }] }));
    return null;
  }

  function One({ id, read }: { id: string; read: () => Promise<Row> }) {
    const row = useLive(`row:${id}`, read, { seed: () => rowOf<Row>("rows", id) });
    return (
      <p>
        {row.loading ? "loading" : row.value?.name}
        {row.problem !== null && " that could not be read"}
      </p>
    );
  }

  it("stands for its page until that was read, and stays when it cannot be", async () => {
    const list = render(<List />);
    await settle();
    list.unmount();
    let answer = (_: Row): void => undefined;
    const read = () => new Promise<Row>((resolve) => (answer = resolve));
    const page = render(<One id="row_1" read={read} />);
    expect(screen.getByText("from the list")).toBeTruthy();
    answer({ id: "row_1", name: "as it is now" });
    await settle();
    expect(screen.getByText("as it is now")).toBeTruthy();
    page.unmount();

    const cut = () => Promise.reject(new DOMException("cut", "TimeoutError"));
    render(<One id="row_1" read={cut} />);
    await settle();
    expect(screen.getByText("as it is now that could not be read")).toBeTruthy();
  });

  it("stands for no other page", () => {
    render(<One id="row_2" read={() => new Promise(() => undefined)} />);
    expect(screen.getByText("loading")).toBeTruthy();
  });
});
