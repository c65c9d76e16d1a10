/** A list of small things with the same fields, a row for each. For arrays of flat objects. */

import AttributeEditor, {
  type AttributeEditorProps,
} from "@cloudscape-design/components/attribute-editor";
import Input from "@cloudscape-design/components/input";
import Select from "@cloudscape-design/components/select";
import { isJsonObject, type Json, type JsonObject } from "../api/contract.ts";
import { sentence } from "../widgets/words.ts";
import { check } from "./check.ts";
import type { WidgetProps } from "./context.ts";
import { type Field, list, visibleFields } from "./schema.ts";

export function Rows({ field, value, onChange, disabled }: WidgetProps) {
  const { items, maxItems } = field.schema;
  const rows = list(value).filter(isJsonObject);
  const columns = isJsonObject(items) ? visibleFields(items, {}) : [];

  function change(at: number, name: string, next: Json | undefined): void {
    onChange(
      rows.map((row, index) => {
        if (index !== at) return row;
        const { [name]: _, ...others } = row;
        return next === undefined ? others : { ...others, [name]: next };
      }),
    );
  }

  return (
    <AttributeEditor<JsonObject>
      items={rows}
      definition={columns.map((column) => definition(column, disabled, change))}
      addButtonText="Add"
      removeButtonText="Remove"
      disableAddButton={disabled || rows.length >= Number(maxItems ?? Number.POSITIVE_INFINITY)}
      onAddButtonClick={() => onChange([...rows, {}])}
      onRemoveButtonClick={({ detail }) =>
        onChange(rows.filter((_, at) => at !== detail.itemIndex))
      }
      empty="None yet."
    />
  );
}

type Change = (at: number, name: string, value: Json | undefined) => void;

function definition(
  column: Field,
  disabled: boolean,
  change: Change,
): AttributeEditorProps.FieldDefinition<JsonObject> {
  const { name, title, required, schema } = column;
  return {
    label: required ? title : `${title} – optional`,
    errorText: (row) => check([{ ...column, pointer: `/${name}` }], row)[0]?.message ?? null,
    control: (row, at) =>
      Array.isArray(schema.enum) ? (
        <Select
          options={schema.enum.map((one) => ({ value: String(one), label: sentence(String(one)) }))}
          selectedOption={
            row[name] === undefined
              ? null
              : { value: String(row[name]), label: sentence(String(row[name])) }
          }
          onChange={({ detail }) => change(at, name, detail.selectedOption.value)}
          disabled={disabled}
          ariaLabel={`${title} ${at + 1}`}
        />
      ) : (
        <Input
          type={column.widget === "number" ? "number" : "text"}
          value={row[name] === undefined ? "" : String(row[name])}
          onChange={({ detail }) => change(at, name, typed(column, detail.value))}
          disabled={disabled}
          ariaLabel={`${title} ${at + 1}`}
        />
      ),
  };
}

function typed({ widget }: Field, text: string): Json | undefined {
  if (text === "") return undefined;
  return widget === "number" ? Number(text) : text;
}
