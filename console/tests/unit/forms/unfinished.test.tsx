import { act, fireEvent, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { useState } from "react";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../../src/api/contract.ts";
import { check } from "../../../src/forms/check.ts";
import { visibleFields } from "../../../src/forms/schema.ts";
import { SchemaForm } from "../../../src/forms/schema-form.tsx";

let value: JsonObject;
let setFromOutside: (value: JsonObject) => void;

/** A form with one field, whose value can come from elsewhere too. */
function Form({ field, begin }: { readonly field: JsonObject; readonly begin: Json }) {
  const [current, setCurrent] = useState<JsonObject>({ field: begin });
  value = current;
  setFromOutside = setCurrent;
  const schema = { type: "object", properties: { field } };
  return (
    <SchemaForm
      schema={schema}
      value={current}
      onChange={setCurrent}
      errors={check(visibleFields(schema, current), current)}
      showAll={false}
      context={{ place: { org_id: null, project_id: null } }}
    />
  );
}

function wrongNow(field: JsonObject): string[] {
  const fields = visibleFields({ type: "object", properties: { field } }, value);
  return check(fields, value).map(({ message }) => message);
}

describe("JSON that does not parse", () => {
  const field = { title: "Limits", type: "object", "x-widget": "json" };
  const area = () => screen.getByRole<HTMLTextAreaElement>("textbox");
  const type = (text: string) => fireEvent.change(area(), { target: { value: text } });

  it("stands as it was typed, says what is wrong, and is no value to send", () => {
    render(<Form field={field} begin={{ port: 1 }} />);
    type('{"port": 2');
    expect(area().value).toBe('{"port": 2');
    expect(wrongNow(field)[0]).toMatch(/^cannot be read as JSON: ./);
    expect(screen.getByText(/^Limits cannot be read as JSON: /)).toBeDefined();
    type('{"port": 2}');
    expect(value).toEqual({ field: { port: 2 } });
    expect(wrongNow(field)).toEqual([]);
    expect(area().value).toBe('{"port": 2}');
    type(" ");
    expect(value).toEqual({});
  });

  it("makes room for what somebody else has saved", () => {
    render(<Form field={field} begin={{ port: 1 }} />);
    type('{"port":  2}');
    expect(area().value).toBe('{"port":  2}');
    act(() => setFromOutside({ field: { port: 3 } }));
    expect(JSON.parse(area().value)).toEqual({ port: 3 });
  });

  it("is there again when the form is drawn again", () => {
    const { unmount } = render(<Form field={field} begin={{}} />);
    type("[1,");
    const kept = JSON.parse(JSON.stringify(value)) as JsonObject;
    unmount();
    render(<Form field={field} begin={kept.field ?? null} />);
    expect(area().value).toBe("[1,");
  });
});

describe("values by name", () => {
  const field = { title: "Labels", type: "object", "x-widget": "key_value" };
  const cell = (name: string) => screen.getByRole<HTMLInputElement>("textbox", { name });
  const type = (name: string, text: string) =>
    fireEvent.change(cell(name), { target: { value: text } });

  it("are not sent while one has no name, or two have the same", async () => {
    render(<Form field={field} begin={{ team: "red" }} />);
    await userEvent.click(screen.getByRole("button", { name: "Add" }));
    type("Value 2", "blue");
    expect(wrongNow(field)).toEqual(["has the value “blue” without a name"]);
    expect(cell("Value 2").value).toBe("blue");
    type("Name 2", "team");
    expect(wrongNow(field)).toEqual(["has the name “team” twice"]);
    expect(cell("Value 1").value).toBe("red");
    await userEvent.click(screen.getByRole("button", { name: "Add" }));
    expect(cell("Name 3").value).toBe("");
    type("Name 2", "side");
    expect(value).toEqual({ field: { team: "red", side: "blue" } });
    expect(wrongNow(field)).toEqual([]);
  });

  it("make room for what somebody else has saved", () => {
    render(<Form field={field} begin={{ team: "red" }} />);
    type("Value 1", "green");
    act(() => setFromOutside({ field: { team: "grey" } }));
    expect(cell("Value 1").value).toBe("grey");
  });
});
