import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { FieldError } from "../../../src/api/problem.ts";
import { SchemaForm } from "../../../src/forms/schema-form.tsx";

const schema = {
  type: "object",
  properties: {
    more: {
      title: "More",
      type: "object",
      properties: { word: { title: "Word", type: "string" } },
    },
  },
};

function form(showAll: boolean, errors: readonly FieldError[]) {
  return (
    <SchemaForm
      schema={schema}
      value={{}}
      onChange={() => undefined}
      errors={errors}
      showAll={showAll}
      context={{ place: { org_id: null, project_id: null } }}
    />
  );
}

function isOpen(): boolean {
  const head = screen.getByRole("button", { name: /^More/ });
  return head.getAttribute("aria-expanded") === "true";
}

it("opens a closed group in which something is wrong, and lets it be closed", async () => {
  const errors = [{ pointer: "/more/word", message: "is too long" }];
  const { rerender } = render(form(false, errors));
  expect(isOpen()).toBe(false);
  rerender(form(true, errors));
  expect(isOpen()).toBe(true);
  expect(screen.getByText("Word is too long.")).toBeDefined();
  rerender(form(true, []));
  expect(isOpen()).toBe(true);
  await userEvent.click(screen.getByRole("button", { name: /^More/ }));
  expect(isOpen()).toBe(false);
});

it("lists above the form what no field can show, once the person wants to go on", () => {
  const errors = [{ pointer: "/", message: "has too much in it" }];
  const { rerender } = render(form(false, errors));
  expect(screen.queryByRole("alert")).toBeNull();
  rerender(form(true, errors));
  expect(screen.getByRole("alert").textContent).toContain(
    "The form as a whole: has too much in it.",
  );
});
