/** Names with a value each, a row for each. For objects whose names are not known beforehand. */

import AttributeEditor from "@cloudscape-design/components/attribute-editor";
import Input from "@cloudscape-design/components/input";
import { useState } from "react";
import { isJsonObject, type Json } from "../api/contract.ts";
import type { WidgetProps } from "./context.ts";
import { same } from "./schema.ts";
import { unfinished, unfinishedOf } from "./unfinished.ts";

interface Row {
  readonly key: string;
  readonly value: string;
}

export function KeyValue({ value, onChange, disabled }: WidgetProps) {
  const [typed, setTyped] = useState(() => rowsOf(value));
  // What came from elsewhere, such as what somebody else has saved, takes the place of what stood here.
  const rows = same(meant(typed), value ?? {}) ? typed : rowsOf(value);
  function update(next: readonly Row[]): void {
    setTyped(next);
    onChange(meant(next));
  }
  const cell = (part: keyof Row, label: string) => ({
    label,
    control: (row: Row, at: number) => (
      <Input
        value={row[part]}
        ariaLabel={`${label} ${at + 1}`}
        disabled={disabled}
        onChange={({ detail }) =>
          update(rows.map((one, index) => (index === at ? { ...one, [part]: detail.value } : one)))
        }
      />
    ),
  });
  return (
    <AttributeEditor
      items={rows}
      definition={[cell("key", "Name"), cell("value", "Value")]}
      addButtonText="Add"
      removeButtonText="Remove"
      disableAddButton={disabled}
      onAddButtonClick={() => setTyped([...rows, { key: "", value: "" }])}
      onRemoveButtonClick={({ detail }) => update(rows.filter((_, at) => at !== detail.itemIndex))}
      empty="None yet."
    />
  );
}

/** A row in which nothing stands yet says nothing. */
function meant(typed: readonly Row[]): Json {
  const rows = typed.filter(({ key, value }) => key !== "" || value !== "");
  const why = wrong(rows);
  if (why !== null) return unfinished(JSON.stringify(rows), why);
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

function wrong(rows: readonly Row[]): string | null {
  const nameless = rows.find(({ key }) => key === "");
  if (nameless !== undefined) return `has the value “${nameless.value}” without a name`;
  const names = rows.map(({ key }) => key);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? null : `has the name “${twice}” twice`;
}

function rowsOf(value: Json | undefined): readonly Row[] {
  const typed = unfinishedOf(value);
  if (typed !== null) return JSON.parse(typed.text) as Row[];
  if (!isJsonObject(value)) return [];
  return Object.entries(value).map(([key, one]) => ({
    key,
    value: typeof one === "string" ? one : JSON.stringify(one),
  }));
}
