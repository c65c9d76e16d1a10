import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { Panel } from "../../../src/api/contract.ts";
import { RouterProvider } from "../../../src/app/router.tsx";
import { ManifestPanel, type PanelScene } from "../../../src/widgets/panel.tsx";

const boards = ["b10", "b9", "b3", "b2", "b1", "b7"].map((name, at) => ({ name, notes: at }));
const scene = {
  instance: { adapter_detail: { detail: { boards } } },
  members: [],
  operations: [],
} as unknown as PanelScene;
const panel = {
  kind: "table",
  title: "Boards in use",
  rows: "/adapter_detail/detail/boards",
  columns: [
    { label: "Board", pointer: "/name" },
    { label: "Notes", pointer: "/notes" },
  ],
} as unknown as Panel;

function shown(): (string | null)[] {
  return screen.getAllByRole("rowheader").map(({ textContent }) => textContent);
}

it("lets the rows of an app be sorted and found, as those of any list", async () => {
  render(
    <RouterProvider>
      <ManifestPanel panel={panel} scene={scene} />
    </RouterProvider>,
  );
  expect(screen.getByRole("table", { name: "Boards in use" })).toBeDefined();
  expect(shown()).toEqual(["b10", "b9", "b3", "b2", "b1", "b7"]);
  await userEvent.click(screen.getByRole("button", { name: /Board/ }));
  expect(shown()).toEqual(["b1", "b2", "b3", "b7", "b9", "b10"]);
  await userEvent.type(screen.getByRole("searchbox"), "b1");
  expect(shown()).toEqual(["b1", "b10"]);
});
