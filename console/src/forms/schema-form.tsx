/** A form drawn from a JSON Schema. Used for what apps ask for (deploys, operations) and for the console's
 * own dialogs. It holds no value: whoever draws it does. */

import Box from "@cloudscape-design/components/box";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import type { Json, JsonObject } from "../api/contract.ts";
import type { FieldError } from "../api/problem.ts";
import { type FormContext, FormPlace } from "./context.ts";
import { readAt, writtenAt } from "./pointers.ts";
import { type Field, type FieldSchema, text, visibleFields } from "./schema.ts";
import { LABELLED_WIDGETS, WIDE_WIDGETS, widgetFor } from "./widgets.tsx";

interface SchemaFormProps {
  readonly schema: FieldSchema;
  readonly value: JsonObject;
  readonly onChange: (value: JsonObject) => void;
  readonly errors: readonly FieldError[];
  /** Show what is wrong with fields that were not touched too: the person wants to go on. */
  readonly showAll: boolean;
  readonly fixed?: readonly string[];
  readonly context: Omit<FormContext, "value">;
}

export function SchemaForm({
  schema,
  value,
  onChange,
  errors,
  showAll,
  fixed = [],
  context,
}: SchemaFormProps) {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const fields = visibleFields(schema, value, fixed);

  function change(pointer: string, next: Json | undefined): void {
    setTouched(new Set([...touched, pointer]));
    onChange(writtenAt(value, pointer, next));
  }

  const drawing: Drawing = {
    value,
    change,
    errorOf: (pointer) =>
      showAll || touched.has(pointer)
        ? (errors.find((error) => error.pointer === pointer)?.message ?? null)
        : null,
  };
  return (
    <FormPlace value={{ ...context, value }}>
      <FieldList fields={fields} drawing={drawing} />
    </FormPlace>
  );
}

interface Drawing {
  readonly value: JsonObject;
  readonly change: (pointer: string, value: Json | undefined) => void;
  readonly errorOf: (pointer: string) => string | null;
}

interface FieldListProps {
  readonly fields: readonly Field[];
  readonly drawing: Drawing;
}

function FieldList({ fields, drawing }: FieldListProps) {
  return (
    <SpaceBetween size="l">
      {fields.map((field) => (
        <OneField key={field.pointer} field={field} drawing={drawing} />
      ))}
    </SpaceBetween>
  );
}

function OneField({ field, drawing }: { readonly field: Field; readonly drawing: Drawing }) {
  if (field.widget === "group") {
    return (
      <ExpandableSection
        headerText={field.title}
        headerDescription={text(field.schema.description) ?? ""}
        defaultExpanded={field.required || hasRequired(field.fields)}
      >
        <FieldList fields={field.fields} drawing={drawing} />
      </ExpandableSection>
    );
  }
  const Widget = widgetFor(field.widget);
  const error = drawing.errorOf(field.pointer);
  const { schema } = field;
  const labelled = LABELLED_WIDGETS.has(field.widget);
  const widget = (
    <Widget
      field={field}
      value={readAt(drawing.value, field.pointer) as Json | undefined}
      onChange={(next) => drawing.change(field.pointer, next)}
      disabled={field.fixed}
      invalid={error !== null}
    />
  );
  return (
    <SpaceBetween size="xxs">
      <FormField
        label={<FieldLabel field={field} />}
        description={text(schema.description) ?? text(schema["x-help"])}
        constraintText={constraint(field)}
        errorText={error === null ? null : `${field.title} ${error}.`.replace("..", ".")}
        stretch={WIDE_WIDGETS.has(field.widget)}
      >
        {!labelled && widget}
      </FormField>
      {labelled && widget}
    </SpaceBetween>
  );
}

function FieldLabel({ field }: { readonly field: Field }) {
  return (
    <>
      {field.title}
      {!field.required && (
        <Box variant="span" color="text-body-secondary">
          {" "}
          – optional
        </Box>
      )}
    </>
  );
}

/** What is asked of the value, said before it is wrong. */
function constraint({ schema, fixed }: Field): string {
  if (fixed) return "Fixed by the entitlement to this app.";
  const parts: string[] = [];
  const unit = text(schema["x-unit"]);
  const { minimum, maximum, maxLength } = schema;
  if (typeof minimum === "number" && typeof maximum === "number") {
    parts.push(`${minimum} to ${maximum}${unit === null ? "" : ` ${unit}`}.`);
  } else if (unit !== null) parts.push(`In ${unit}.`);
  if (typeof maxLength === "number" && schema.pattern === undefined) {
    parts.push(`Up to ${maxLength} characters.`);
  }
  const help = text(schema["x-pattern-help"]);
  if (help !== null) parts.push(`It ${help}.`);
  return parts.join(" ");
}

function hasRequired(fields: readonly Field[]): boolean {
  return fields.some((field) => field.required || hasRequired(field.fields));
}
