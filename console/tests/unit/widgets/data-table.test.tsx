import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Problem } from "../../../src/api/problem.ts";
import { RouterProvider } from "../../../src/app/router.tsx";
import { type LiveList, wholeList } from "../../../src/live/use-list.ts";
import { type Column, DataTable } from "../../../src/widgets/data-table.tsx";
import { drawn } from "../drawn.tsx";

const COLUMNS: readonly Column<string>[] = [
  { id: "name", header: "Name", cell: String, value: String, rowHeader: true },
];
const MANY = Array.from({ length: 45 }, (_, at) => `row ${45 - at}`);
const BROKEN = new Problem({
  status: 500,
  code: "internal",
  title: "It broke",
  detail: "It broke",
  correlationId: "cor-1",
});

interface TableProps {
  readonly list: Partial<LiveList<string>>;
  readonly widen?: () => void;
  readonly sortedBy?: string;
}

function Rows({ list, widen, sortedBy = "" }: TableProps) {
  return (
    <DataTable<string>
      name="rows"
      title="Rows"
      list={{ ...wholeList(null), ...list }}
      columns={COLUMNS}
      idOf={String}
      sortedBy={sortedBy}
      empty="There is none yet"
      filters={<span>a filter</span>}
      widen={widen ?? null}
    />
  );
}

function shown(): (string | null)[] {
  return screen.getAllByRole("rowheader").map(({ textContent }) => textContent);
}

it.each([
  { loading: true, problem: BROKEN },
  { loading: false, problem: BROKEN },
  { loading: false, problem: null },
])("does not say that there is nothing of what could not be read: %o", async (list) => {
  await drawn(<Rows list={list} />);
  expect(screen.getByText("It could not be read")).toBeDefined();
  expect(screen.queryByText("There is none yet")).toBeNull();
});

it("says that there is nothing only where nothing was left out", async () => {
  const widen = vi.fn();
  await drawn(<Rows list={{ items: [], loading: false }} />);
  expect(screen.getByText("There is none yet")).toBeDefined();
  await drawn(<Rows list={{ items: [], loading: false }} widen={widen} />);
  expect(screen.getByText("Nothing matches")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Show everything" }));
  expect(widen).toHaveBeenCalledOnce();
});

it("shows everything again where a word finds nothing", async () => {
  await drawn(<Rows list={{ items: ["one"], loading: false }} />, "/here?rows.q=two");
  await userEvent.click(screen.getByRole("button", { name: "Show everything" }));
  expect(shown()).toEqual(["one"]);
  expect(window.location.search).toBe("");
});

it("begins at the first page of what is asked for anew", async () => {
  await drawn(<Rows list={{ items: MANY, loading: false }} />);
  await userEvent.click(screen.getByRole("button", { name: "2" }));
  expect(shown()[0]).toBe("row 25");
  await userEvent.click(screen.getByRole("button", { name: /Name/ }));
  expect(shown()[0]).toBe("row 1");
  await userEvent.click(screen.getByRole("button", { name: "2" }));
  expect(shown()[0]).toBe("row 21");
  await userEvent.type(screen.getByRole("searchbox"), "row");
  expect(shown()[0]).toBe("row 1");
});

it("says where only what was read so far is found and ordered, and reads on", async () => {
  const readMore = vi.fn();
  const list = { items: MANY, loading: false, more: true, readMore };
  await drawn(<Rows list={list} />);
  expect(screen.queryByText(/read so far/)).toBeNull();
  await userEvent.type(screen.getByRole("searchbox"), "9");
  expect(screen.getByText(/among the 45 read so far/)).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Read more" }));
  expect(readMore).toHaveBeenCalledOnce();
});

it("says so too of an order nobody chose, unless all is in it as it came", () => {
  const list = { items: MANY, loading: false, more: true };
  window.history.replaceState(null, "", "/");
  const table = render(<Rows list={list} sortedBy="name" />, { wrapper: RouterProvider });
  expect(screen.getByText(/read so far/)).toBeDefined();
  table.rerender(<Rows list={list} sortedBy="-name" />);
  expect(screen.queryByText(/read so far/)).toBeNull();
});
