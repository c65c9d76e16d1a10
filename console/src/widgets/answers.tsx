/** What was filled into a form, read back with the form's own words: titles for names, names for ids. */

import Box from "@cloudscape-design/components/box";
import type { Json, JsonObject } from "../api/contract.ts";
import { readAt } from "../forms/pointers.ts";
import { expanded, type Field, visibleFields } from "../forms/schema.ts";
import { JsonView } from "./json-view.tsx";
import { sentence } from "./words.ts";

interface AnswersProps {
  readonly schema: JsonObject;
  readonly value: JsonObject;
  /** What people call something that has an id. */
  readonly nameOf: (id: string) => string;
}

export function Answers({ schema, value, nameOf }: AnswersProps) {
  return <Fields fields={visibleFields(expanded(schema), value)} value={value} nameOf={nameOf} />;
}

interface FieldsProps extends Omit<AnswersProps, "schema"> {
  readonly fields: readonly Field[];
}

function Fields({ fields, value, nameOf }: FieldsProps) {
  return (
    <dl className="facts">
      {fields.map((field) => (
        <div key={field.pointer} className={field.widget === "group" ? "fact fact-nested" : "fact"}>
          <dt>{field.title}</dt>
          <dd>
            {field.widget === "group" ? (
              <Fields fields={field.fields} value={value} nameOf={nameOf} />
            ) : (
              <Answer
                field={field}
                value={readAt(value, field.pointer) as Json | undefined}
                nameOf={nameOf}
              />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface AnswerProps {
  readonly field: Field;
  readonly value: Json | undefined;
  readonly nameOf: (id: string) => string;
}

function Answer({ field, value, nameOf }: AnswerProps) {
  if (value === undefined || value === "") return <Box color="text-body-secondary">Not given</Box>;
  if (typeof value === "boolean") return <>{value ? "On" : "Off"}</>;
  if (field.widget.endsWith("_picker")) {
    const ids = Array.isArray(value) ? value : [value];
    return <>{ids.map((id) => nameOf(String(id))).join(", ")}</>;
  }
  if (typeof value === "string" && (field.widget === "radio" || field.widget === "select")) {
    return <>{sentence(value)}</>;
  }
  return <JsonView value={value} name={field.title} />;
}
