/** For a shape no widget draws: JSON, checked while it is typed. */

import Textarea from "@cloudscape-design/components/textarea";
import { useState } from "react";
import type { Json } from "../api/contract.ts";
import type { WidgetProps } from "./context.ts";
import { same } from "./schema.ts";
import { unfinished, unfinishedOf } from "./unfinished.ts";

export function JsonInput({ value, onChange, disabled, invalid }: WidgetProps) {
  const [typed, setTyped] = useState(() => textOf(value));
  // What came from elsewhere, such as what somebody else has saved, takes the place of what stood here.
  const shown = same(meant(typed), value) ? typed : textOf(value);
  return (
    <Textarea
      value={shown}
      onChange={({ detail }) => {
        setTyped(detail.value);
        onChange(meant(detail.value));
      }}
      rows={8}
      spellcheck={false}
      placeholder="JSON"
      disabled={disabled}
      invalid={invalid || unfinishedOf(value) !== null}
    />
  );
}

function meant(typed: string): Json | undefined {
  if (typed.trim() === "") return undefined;
  try {
    return JSON.parse(typed) as Json;
  } catch (thrown) {
    const what = thrown instanceof SyntaxError ? thrown.message : String(thrown);
    return unfinished(typed, `cannot be read as JSON: ${what}`);
  }
}

function textOf(value: Json | undefined): string {
  if (value === undefined) return "";
  return unfinishedOf(value)?.text ?? JSON.stringify(value, null, 2);
}
