/** A form drawn from a JSON Schema. Used for what apps ask for (deploys, operations) and for the console's
 * own dialogs. It holds no value: whoever draws it does. */

import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useEffect, useState } from "react";
import type { Json, JsonObject } from "../api/contract.ts";
import type { FieldError } from "../api/problem.ts";
import { type FormContext, FormPlace } from "./context.ts";
import { errorPlaces } from "./error-places.ts";
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
  const { at, rest } = errorPlaces(fields, errors);

  function change(pointer: string, next: Json | undefined): void {
    setTouched(new Set([...touched, pointer]));
    onChange(writtenAt(value, pointer, next));
  }

  const drawing: Drawing = {
    value,
    change,
    errorOf: (pointer) => (showAll || touched.has(pointer) ? (at.get(pointer) ?? null) : null),
  };
  return (
    <FormPlace value={{ ...context, value }}>
      <SpaceBetween size="l">
        {showAll && rest.length > 0 && <Elsewhere errors={rest} />}
        <FieldList fields={fields} drawing={drawing} />
      </SpaceBetween>
    </FormPlace>
  );
}

/** What is wrong and belongs to no field that is drawn. */
function Elsewhere({ errors }: { readonly errors: readonly string[] }) {
  return (
    <div role="alert">
      <Alert type="error" header="It cannot be taken like this">
        <ul className="plain-list">
          {errors.map((error) => (
            <li key={error}>{error}</li>
          ))}
        </ul>
      </Alert>
    </div>
  );
}

interface Drawing {
  readonly value: JsonObject;
  readonly change: (pointer: string, value: Json | undefined) => void;
  /** The sentence a field shows now. */
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

interface OneFieldProps {
  readonly field: Field;
  readonly drawing: Drawing;
}

function OneField({ field, drawing }: OneFieldProps) {
  if (field.widget === "group") return <Group field={field} drawing={drawing} />;
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
        errorText={error}
        stretch={WIDE_WIDGETS.has(field.widget)}
      >
        {!labelled && widget}
      </FormField>
      {labelled && widget}
    </SpaceBetween>
  );
}

/** Opens when something is wrong in it: nobody looks for an error in what is closed. */
function Group({ field, drawing }: OneFieldProps) {
  const wrong = holdsError(field, drawing);
  const [open, setOpen] = useState(field.required || hasRequired(field.fields));
  useEffect(() => {
    if (wrong) setOpen(true);
  }, [wrong]);
  return (
    <ExpandableSection
      headerText={field.title}
      headerDescription={text(field.schema.description) ?? ""}
      expanded={open}
      onChange={({ detail }) => setOpen(detail.expanded)}
    >
      <FieldList fields={field.fields} drawing={drawing} />
    </ExpandableSection>
  );
}

function holdsError({ pointer, fields }: Field, drawing: Drawing): boolean {
  return drawing.errorOf(pointer) !== null || fields.some((field) => holdsError(field, drawing));
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
