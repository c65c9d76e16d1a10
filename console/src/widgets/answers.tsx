/** What was filled into a form, read back with the form's own words: titles for names, names for ids. */

import Box from "@cloudscape-design/components/box";
import { Fragment } from "react";
import type { Json, JsonObject } from "../api/contract.ts";
import { readAt } from "../forms/pointers.ts";
import { expanded, type Field, visibleFields } from "../forms/schema.ts";
import { JsonView } from "./json-view.tsx";
import { Named } from "./named.tsx";
import { sentence } from "./words.ts";

interface AnswersProps {
  readonly schema: JsonObject;
  readonly value: JsonObject;
  /** Says nothing of what was not filled in. */
  readonly givenOnly?: boolean;
}

export function Answers({ schema, value, givenOnly = false }: AnswersProps) {
  const fields = visibleFields(expanded(schema), value);
  return <Fields fields={fields} value={value} givenOnly={givenOnly} />;
}

interface FieldsProps {
  readonly fields: readonly Field[];
  readonly value: JsonObject;
  readonly givenOnly: boolean;
}

function Fields({ fields, value, givenOnly }: FieldsProps) {
  const said = fields.filter(({ pointer }) => !givenOnly || readAt(value, pointer) !== undefined);
  return (
    <dl className="facts">
      {said.map((field) => (
        <div key={field.pointer} className={field.widget === "group" ? "fact fact-nested" : "fact"}>
          <dt>{field.title}</dt>
          <dd>
            {field.widget === "group" ? (
              <Fields fields={field.fields} value={value} givenOnly={givenOnly} />
            ) : (
              <Answer field={field} value={readAt(value, field.pointer) as Json | undefined} />
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
}

function Answer({ field, value }: AnswerProps) {
  if (value === undefined || value === "") return <Box color="text-body-secondary">Not given</Box>;
  if (typeof value === "boolean") return <>{value ? "On" : "Off"}</>;
  if (field.widget.endsWith("_picker")) {
    const ids = Array.isArray(value) ? value : [value];
    return ids.map((id, at) => (
      <Fragment key={String(id)}>
        {at > 0 && ", "}
        <Named id={String(id)} />
      </Fragment>
    ));
  }
  if (typeof value === "string" && (field.widget === "radio" || field.widget === "select")) {
    return <>{sentence(value)}</>;
  }
  return <JsonView value={value} name={field.title} />;
}
