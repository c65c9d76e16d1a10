import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import type { JsonObject } from "../../../src/api/contract.ts";
import { Problem } from "../../../src/api/problem.ts";
import { FormDialog } from "../../../src/forms/form-dialog.tsx";

const schema: JsonObject = {
  type: "object",
  properties: {
    name: { title: "Name", type: "string" },
    other: { title: "Other", type: "string" },
  },
};

function open(submit: (value: JsonObject, key: string) => Promise<unknown>) {
  const onClose = vi.fn();
  render(
    <FormDialog
      title="Make"
      submitText="Make it"
      schema={schema}
      submit={submit}
      onClose={onClose}
    />,
  );
  return onClose;
}

const field = (name: string) => screen.getByRole("textbox", { name: new RegExp(`^${name}`) });

const pressEscape = () => fireEvent.keyDown(field("Name"), { key: "Escape", keyCode: 27 });

it("drops nothing that was typed when somebody clicks beside it", async () => {
  const onClose = open(async () => undefined);
  await userEvent.type(field("Name"), "x");
  await userEvent.click(screen.getByRole("dialog"));
  expect(onClose).not.toHaveBeenCalled();
  pressEscape();
  expect(onClose).toHaveBeenCalledOnce();
});

it("closes with a click beside it when nothing was typed", async () => {
  const onClose = open(async () => undefined);
  await userEvent.click(screen.getByRole("dialog"));
  expect(onClose).toHaveBeenCalledOnce();
});

it("sends with Enter, and stays while it is sent", async () => {
  let answer: () => void = () => undefined;
  const submit = vi.fn(
    () =>
      new Promise<void>((done) => {
        answer = done;
      }),
  );
  const onClose = open(submit);
  await userEvent.type(field("Name"), "x{Enter}");
  expect(submit).toHaveBeenCalledOnce();
  pressEscape();
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(onClose).not.toHaveBeenCalled();
  await act(async () => answer());
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
});

it("takes back what was refused once something else is typed", async () => {
  open(async () => {
    throw new Problem({
      status: 422,
      code: "invalid",
      title: "Not like this",
      detail: "",
      correlationId: "web_1",
      fieldErrors: [
        { pointer: "/name", message: "is taken" },
        { pointer: "/", message: "is too much" },
      ],
    });
  });
  await userEvent.type(field("Name"), "x{Enter}");
  expect(await screen.findByText("Name is taken.")).toBeDefined();
  // What no field shows stands in the problem, and there alone.
  expect(screen.getAllByText("is too much")).toHaveLength(1);
  expect(screen.queryByText(/The form as a whole/)).toBeNull();
  await userEvent.type(field("Name"), "y");
  expect(screen.queryByText("Name is taken.")).toBeNull();
  expect(screen.queryByText("Not like this")).toBeNull();
});
