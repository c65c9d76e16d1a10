/** The plain widgets of forms, by their name in `x-widget`, and the table of all of them. The ones that
 * choose among things of the platform are in pickers.tsx. */

import Input from "@cloudscape-design/components/input";
import Multiselect from "@cloudscape-design/components/multiselect";
import RadioGroup from "@cloudscape-design/components/radio-group";
import Select from "@cloudscape-design/components/select";
import Textarea from "@cloudscape-design/components/textarea";
import Toggle from "@cloudscape-design/components/toggle";
import TokenGroup from "@cloudscape-design/components/token-group";
import { type ComponentType, useState } from "react";
import { isJsonObject, type Json } from "../api/contract.ts";
import { sentence } from "../widgets/words.ts";
import { AllocationPicker } from "./allocation-picker.tsx";
import type { WidgetProps } from "./context.ts";
import { JsonInput } from "./json-input.tsx";
import { KeyValue } from "./key-value.tsx";
import {
  ArtifactPicker,
  CredentialPicker,
  MemberPicker,
  ProjectPicker,
  SecretPicker,
  ServiceAccountPicker,
  VersionPicker,
} from "./pickers.tsx";
import { Rows } from "./rows.tsx";
import { list, same, text } from "./schema.ts";

export const WIDE_WIDGETS: ReadonlySet<string> = new Set([
  "allocation_picker",
  "member_picker",
  "code",
  "json",
  "textarea",
  "key_value",
  "rows",
]);

/** Widgets of many parts, each with a label of its own, which the field's label must not take over. */
export const LABELLED_WIDGETS: ReadonlySet<string> = new Set([
  "allocation_picker",
  "key_value",
  "rows",
]);

export function widgetFor(name: string): ComponentType<WidgetProps> {
  return WIDGETS[name] ?? JsonInput;
}

function TextInput({ field, value, onChange, disabled, invalid }: WidgetProps) {
  return (
    <Input
      value={typeof value === "string" ? value : ""}
      onChange={({ detail }) => onChange(detail.value === "" ? undefined : detail.value)}
      placeholder={text(field.schema["x-placeholder"]) ?? ""}
      disabled={disabled}
      invalid={invalid}
      name={field.name}
    />
  );
}

/** For the console's own forms: what is typed is not shown. Apps never ask for a secret this way. */
function PasswordInput({ value, onChange, invalid }: WidgetProps) {
  return (
    <Input
      type="password"
      autoComplete="new-password"
      value={typeof value === "string" ? value : ""}
      onChange={({ detail }) => onChange(detail.value === "" ? undefined : detail.value)}
      invalid={invalid}
    />
  );
}

function NumberInput({ value, onChange, disabled, invalid, field }: WidgetProps) {
  return (
    <Input
      type="number"
      inputMode="decimal"
      value={value === undefined || value === null ? "" : String(value)}
      onChange={({ detail }) => onChange(detail.value === "" ? undefined : Number(detail.value))}
      disabled={disabled}
      invalid={invalid}
      name={field.name}
    />
  );
}

function LongText({ field, value, onChange, disabled, invalid }: WidgetProps) {
  return (
    <Textarea
      value={typeof value === "string" ? value : ""}
      onChange={({ detail }) => onChange(detail.value === "" ? undefined : detail.value)}
      placeholder={text(field.schema["x-placeholder"]) ?? ""}
      rows={field.widget === "code" ? 10 : 4}
      spellcheck={field.widget !== "code"}
      disabled={disabled}
      invalid={invalid}
    />
  );
}

function Switch({ field, value, onChange, disabled }: WidgetProps) {
  return (
    <Toggle
      checked={value === true}
      onChange={({ detail }) => onChange(detail.checked)}
      disabled={disabled}
    >
      {text(field.schema["x-placeholder"]) ?? (value === true ? "On" : "Off")}
    </Toggle>
  );
}

interface Choice {
  readonly value: string;
  readonly label: string;
  readonly of: Json;
}

/** The choices of a field: its `enum`, or the constants of its `oneOf` with their titles. */
function choices(schema: WidgetProps["field"]["schema"]): Choice[] {
  const named = list(schema.oneOf).filter(isJsonObject);
  if (named.length > 0) {
    return named.map(({ const: of = null, title }) => ({
      value: JSON.stringify(of),
      label: text(title) ?? String(of),
      of,
    }));
  }
  return list(schema.enum).map((of) => ({
    value: JSON.stringify(of),
    label: typeof of === "string" ? sentence(of) : JSON.stringify(of),
    of,
  }));
}

function Choose({ field, value, onChange, disabled, invalid }: WidgetProps) {
  const options = choices(field.schema);
  const chosen = options.find(({ of }) => same(of, value)) ?? null;
  const pick = (id: string) => onChange(options.find((option) => option.value === id)?.of);
  if (field.widget === "radio") {
    return (
      <RadioGroup
        value={chosen?.value ?? null}
        items={options.map(({ value: id, label }) => ({ value: id, label, disabled }))}
        onChange={({ detail }) => pick(detail.value)}
      />
    );
  }
  return (
    <Select
      selectedOption={chosen}
      options={options}
      onChange={({ detail }) => pick(detail.selectedOption.value ?? "")}
      placeholder="Choose one"
      filteringType={options.length > 10 ? "auto" : "none"}
      disabled={disabled}
      invalid={invalid}
    />
  );
}

function ChooseMany({ field, value, onChange, disabled, invalid }: WidgetProps) {
  const { items } = field.schema;
  const options = choices(isJsonObject(items) ? items : {});
  const chosen = list(value).map((of) => JSON.stringify(of));
  return (
    <Multiselect
      selectedOptions={options.filter(({ value: id }) => chosen.includes(id))}
      options={options}
      onChange={({ detail }) => {
        const ids = detail.selectedOptions.map((option) => option.value);
        onChange(options.filter(({ value: id }) => ids.includes(id)).map(({ of }) => of));
      }}
      placeholder="Choose"
      filteringType={options.length > 10 ? "auto" : "none"}
      disabled={disabled}
      invalid={invalid}
    />
  );
}

/** A list of words: each is added with Enter. */
function Tokens({ field, value, onChange, disabled, invalid }: WidgetProps) {
  const [typed, setTyped] = useState("");
  const words = list(value).filter((word) => typeof word === "string");
  function add(): void {
    const word = typed.trim();
    if (word === "") return;
    onChange([...words.filter((one) => one !== word), word]);
    setTyped("");
  }
  return (
    <>
      <Input
        value={typed}
        onChange={({ detail }) => setTyped(detail.value)}
        onKeyDown={(event) => {
          if (event.detail.key !== "Enter") return;
          event.preventDefault();
          add();
        }}
        onBlur={add}
        placeholder={text(field.schema["x-placeholder"]) ?? "Type and press Enter"}
        disabled={disabled}
        invalid={invalid}
      />
      <TokenGroup
        items={words.map((label) => ({ label, dismissLabel: `Remove ${label}`, disabled }))}
        onDismiss={({ detail }) => onChange(words.filter((_, at) => at !== detail.itemIndex))}
      />
    </>
  );
}

const WIDGETS: Readonly<Record<string, ComponentType<WidgetProps>>> = {
  text: TextInput,
  password: PasswordInput,
  number: NumberInput,
  textarea: LongText,
  code: LongText,
  switch: Switch,
  select: Choose,
  radio: Choose,
  multiselect: ChooseMany,
  tokens: Tokens,
  key_value: KeyValue,
  json: JsonInput,
  rows: Rows,
  allocation_picker: AllocationPicker,
  project_picker: ProjectPicker,
  member_picker: MemberPicker,
  credential_picker: CredentialPicker,
  secret_picker: SecretPicker,
  service_account_picker: ServiceAccountPicker,
  version_picker: VersionPicker,
  artifact_picker: ArtifactPicker,
};
