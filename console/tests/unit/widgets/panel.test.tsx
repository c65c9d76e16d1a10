import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { Panel } from "../../../src/api/contract.ts";
import { RouterProvider } from "../../../src/app/router.tsx";
import { ManifestPanel, type PanelScene } from "../../../src/widgets/panel.tsx";
import { MANIFEST } from "../manifest/scene.ts";

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

function draw(shownPanel: Panel, shownScene: PanelScene): void {
  render(
    <RouterProvider>
      <ManifestPanel panel={shownPanel} scene={shownScene} />
    </RouterProvider>,
  );
}

it("orders the rows of an app by what they are called, until a person does otherwise", async () => {
  draw(panel, scene);
  expect(screen.getByRole("table", { name: "Boards in use" })).toBeDefined();
  expect(shown()).toEqual(["b1", "b2", "b3", "b7", "b9", "b10"]);
  await userEvent.click(screen.getByRole("button", { name: /Notes/ }));
  expect(shown()).toEqual(["b10", "b9", "b3", "b2", "b1", "b7"]);
  await userEvent.type(screen.getByRole("searchbox"), "b1");
  expect(shown()).toEqual(["b10", "b1"]);
});

it("keeps the room of a picture before the code that draws it is there", () => {
  const members = ["hand", "hand", "head"].map((component_key, at) => ({
    id: `mem_${at}`,
    allocation_id: `alloc_${at}`,
    component_key,
    status: "ready",
    conditions: [],
  }));
  const picture = { kind: "topology", title: "Shape", source: "members" } as unknown as Panel;
  const shownScene = { ...scene, members, manifest: MANIFEST, allocationName: String };
  draw(picture, shownScene as unknown as PanelScene);
  const frame = screen.getByRole("figure", { name: /^Topology\. / });
  expect(frame.childElementCount).toBe(0);
  // Two rows, what is between them, and what is around.
  expect(frame.style.height).toBe(`${2 * 104 + 24 + 60}px`);
});

it("leaves rows as the app has them where they are not called anything", () => {
  window.history.replaceState(null, "", "/");
  const columns = [{ label: "Notes", pointer: "/notes", format: "number" }];
  draw({ ...panel, columns } as unknown as Panel, scene);
  expect(shown()).toEqual(["0", "1", "2", "3", "4", "5"]);
});

it("leads from a row to the machine it is about", () => {
  const members = [{ node: "b7", allocation_id: "alloc_7" }];
  draw(panel, { ...scene, members } as unknown as PanelScene);
  expect(screen.getByRole("link", { name: "b7" }).getAttribute("href")).toBe(
    "/allocations/alloc_7",
  );
  expect(screen.queryByRole("link", { name: "b9" })).toBeNull();
});
