import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { useState } from "react";
import { expect, it, vi } from "vitest";
import { Problem } from "../../../src/api/problem.ts";
import { Suggest, type Suggestions } from "../../../src/widgets/suggest.tsx";

const PEOPLE = [
  { value: "user_1", called: "Olga Owner" },
  { value: "user_2", called: "Max Member" },
];
const NOTHING = { value: null, problem: null, loading: false, readNow: () => undefined };

function field(among: Partial<Suggestions>, first = "") {
  const onChange = vi.fn();
  function Field() {
    const [value, setValue] = useState(first);
    const change = (next: string) => {
      setValue(next);
      onChange(next);
    };
    return <Suggest value={value} onChange={change} among={{ ...NOTHING, ...among }} />;
  }
  render(<Field />);
  return { input: screen.getByRole("combobox"), onChange };
}

it("gives the id of what was chosen, and shows its name", async () => {
  const { input, onChange } = field({ value: PEOPLE });
  await userEvent.type(input, "max");
  await userEvent.click(await screen.findByTitle("Max Member"));
  expect(onChange).toHaveBeenLastCalledWith("user_2");
  expect(input).toHaveProperty("value", "Max Member");
});

it("takes what is not listed as it is, and shows an id that is known by its name", async () => {
  const { input, onChange } = field({ value: PEOPLE }, "user_1");
  expect(input).toHaveProperty("value", "Olga Owner");
  await userEvent.clear(input);
  await userEvent.type(input, "user_9");
  expect(onChange).toHaveBeenLastCalledWith("user_9");
});

it("tells those apart that are called the same", async () => {
  const twice = ["proj_00000000000000000000000001", "proj_00000000000000000000000002"];
  const { input, onChange } = field({ value: twice.map((value) => ({ value, called: "Vision" })) });
  await userEvent.click(input);
  await userEvent.click(await screen.findByText("Vision (proj_…000002)"));
  expect(onChange).toHaveBeenLastCalledWith(twice[1]);
});

it("says that the list could not be read, and takes ids all the same", async () => {
  const readNow = vi.fn();
  const facts = { status: 500, code: "x", title: "Out of order", detail: "", correlationId: null };
  const { input, onChange } = field({ problem: new Problem(facts), readNow });
  await userEvent.type(input, "user_1");
  expect(await screen.findByText("Out of order")).toBeDefined();
  expect(onChange).toHaveBeenLastCalledWith("user_1");
  expect(readNow).toHaveBeenCalled();
});
