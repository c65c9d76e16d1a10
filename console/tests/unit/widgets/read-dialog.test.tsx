import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Problem } from "../../../src/api/problem.ts";
import { ReadDialog } from "../../../src/widgets/read-dialog.tsx";

const FAILED = new Problem({
  status: 503,
  code: "unavailable",
  title: "Not now",
  detail: "The database is away.",
  correlationId: "cor-1",
});

function dialog(part: { value?: string; problem?: Problem }, calls = {}) {
  const { value = null, problem = null } = part;
  const live = {
    value,
    problem,
    loading: value === null && problem === null,
    readNow: vi.fn(),
    ...calls,
  };
  const onClose = vi.fn();
  render(
    <ReadDialog title="Make one" live={live} onClose={onClose}>
      {(found) => <div>the form with {found}</div>}
    </ReadDialog>,
  );
  return { live, onClose };
}

it("opens at once, and can be left while it reads", async () => {
  const { onClose } = dialog({});
  expect(screen.getByRole("dialog", { name: "Make one" })).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(onClose).toHaveBeenCalled();
});

it("says why it could not read, and reads again", async () => {
  const { live } = dialog({ problem: FAILED });
  expect(screen.getByRole("alert").textContent).toContain("The database is away.");
  await userEvent.click(screen.getByRole("button", { name: "Read again" }));
  expect(live.readNow).toHaveBeenCalled();
});

it("is the form once all is there, also where it could not be read anew", () => {
  dialog({ value: "roles", problem: FAILED });
  expect(screen.getByText("the form with roles")).toBeDefined();
  expect(screen.queryByRole("alert")).toBeNull();
});
