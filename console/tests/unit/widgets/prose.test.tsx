import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { beforeEach, expect, it } from "vitest";
import type { Operation, OperationSpec } from "../../../src/api/contract.ts";
import { forgetNames } from "../../../src/live/names.ts";
import { JsonView } from "../../../src/widgets/json-view.tsx";
import { isId } from "../../../src/widgets/named.tsx";
import { OperationFailure } from "../../../src/widgets/operation-steps.tsx";
import { Prose } from "../../../src/widgets/prose.tsx";
import { fakePlatform, json } from "../fake-platform.ts";

const MACHINE = "alloc_01m7jcn25kejz69892sne3zhs3";
const OPERATION = "op_01m7jcn25kejz69892sne3zhs4";
const MEMBER = "mem_01m7jcn25kejz69892sne3zhs5";
beforeEach(() => {
  forgetNames();
  const platform = fakePlatform();
  const items = [
    { id: MACHINE, name: "n4" },
    { id: OPERATION, name: "add_worker" },
    { id: MEMBER, name: "worker on n4" },
  ];
  platform.on("GET /api/v1/names", () => json(200, { items }));
});

it("calls things by their names, and leads to what has a page", async () => {
  render(<Prose>{`${OPERATION} left ${MEMBER} on ${MACHINE}.`}</Prose>);
  const machine = await screen.findByRole("link", { name: "n4" });
  expect(machine.getAttribute("href")).toBe(`/allocations/${MACHINE}`);
  expect(screen.getAllByRole("link")).toHaveLength(2);
  expect(document.querySelector(".prose")?.textContent).toBe("Add worker left worker on n4 on n4.");
});

it("has no link where it stands in one", async () => {
  render(<Prose plain>{`On ${MACHINE}`}</Prose>);
  expect((await screen.findByText("n4")).title).toBe(MACHINE);
  expect(screen.queryByRole("link")).toBeNull();
});

it("tells a machine that may not be read by the end of its id", () => {
  const other = MACHINE.replace("zhs3", "zhs9");
  render(<Prose>{`On ${other}`}</Prose>);
  expect(screen.getByRole("link", { name: "alloc_…e3zhs9" })).toBeDefined();
});

it("takes nothing for markup, and keeps lines", () => {
  const text = '<a href="https://evil.example">op_1</a>\n**bold** alloc_nothing [x](y)';
  render(<Prose>{text}</Prose>);
  expect(document.querySelector(".prose")?.textContent).toBe(text);
  expect(document.querySelector(".prose")?.children).toHaveLength(0);
});

it.each([
  [MACHINE, true],
  [`on ${MACHINE}`, false],
  [`${MACHINE}x`, false],
  [MACHINE.replace("01m7", "81m7"), false],
  ["alloc_1", false],
])("%s is an id: %s", (text, is) => {
  expect(isId(text)).toBe(is);
});

it("calls a machine by its name in data too, and copies the id", async () => {
  const user = userEvent.setup();
  render(<JsonView value={{ allocation_id: MACHINE, command: `ssh ${MACHINE}` }} copies />);
  expect(await screen.findByRole("link", { name: "n4" })).toBeDefined();
  expect(screen.getByText(`ssh ${MACHINE}`)).toBeDefined();
  await user.click(screen.getByRole("button", { name: "Copy Allocation id" }));
  expect(await navigator.clipboard.readText()).toBe(MACHINE);
});

it("says a failure in a sentence, and what the program said below it, once", async () => {
  const stderr = "dpkg: error\nE: it returned (2)";
  const error = {
    attempt: 1,
    code: "script_failed",
    family: "permanent",
    instance_usable: true,
    retryable: false,
    message: `install ended with 100 on the machine of ${MACHINE}: ${stderr}`,
    detail: { allocation_id: MACHINE, stderr },
  };
  render(
    <OperationFailure
      operation={{ error, status: "failed", max_attempts: 3 } as unknown as Operation}
      spec={{ purpose: "member_add" } as OperationSpec}
    />,
  );
  expect(await screen.findAllByRole("link", { name: "n4" })).toHaveLength(2);
  expect(document.querySelector(".prose")?.textContent).toBe(
    "install ended with 100 on the machine of n4.",
  );
  expect(document.body.textContent?.split("E: it returned (2)")).toHaveLength(2);
  expect(screen.getByText(/will not pass by itself · what ran before still runs/)).toBeTruthy();
});
