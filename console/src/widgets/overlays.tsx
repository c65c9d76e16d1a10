/** Policy overlays of one place: listed, made, changed, taken away; each with the warning that it does
 * less than it says, where that is so. */

import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { api, call } from "../api/client.ts";
import type { JsonObject, Schemas } from "../api/contract.ts";
import { pageQuery } from "../api/pages.ts";
import { FormDialog } from "../forms/form-dialog.tsx";
import { choice, NAME, objectOf } from "../forms/own-schemas.ts";
import { useList } from "../live/use-list.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { DIMENSIONS, type Dimension, dimensionName } from "./dimensions.ts";
import { EditButtons } from "./edit-buttons.tsx";
import { Empty } from "./empty.tsx";
import { Moment } from "./moment.tsx";

type Overlay = Schemas["Overlay"];
type RuleSet = Overlay["rules"];

export interface OverlayScope {
  readonly kind: "platform" | "tenant" | "project";
  readonly id: string;
}

interface OverlayTableProps {
  readonly scope: OverlayScope;
  readonly manages: boolean;
}

type Dialog = { kind: "new" } | { kind: "edit" | "delete"; of: Overlay };

export function OverlayTable({ scope, manages }: OverlayTableProps) {
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const list = useList(
    `overlays:${scope.kind}:${scope.id}`,
    (cursor, signal) => readOverlays(scope, cursor, signal),
    { on: ({ type }) => type.startsWith("policy.") },
  );
  const warned = (list.items ?? []).flatMap(({ name, warnings }) =>
    warnings.map(({ message, pointer }) => ({
      key: `${name}${pointer}`,
      text: `${name}: ${message}`,
    })),
  );
  return (
    <SpaceBetween size="s">
      {warned.length > 0 && (
        <Alert type="warning" header="Some rules do less than they say">
          <ul className="plain-list">
            {warned.map(({ key, text }) => (
              <li key={key}>{text}</li>
            ))}
          </ul>
        </Alert>
      )}
      <DataTable
        name="overlays"
        title={`Rules of this ${scope.kind}`}
        description="An overlay can only narrow what holds above it."
        list={list}
        idOf={({ id }) => id}
        columns={[...COLUMNS, ...(manages ? [editColumn(setDialog)] : [])]}
        actions={manages && <Button onClick={() => setDialog({ kind: "new" })}>Add rules</Button>}
        empty={<Empty title="No rules of its own">What holds above holds here.</Empty>}
      />
      {dialog !== null && (
        <OverlayDialog dialog={dialog} scope={scope} onClose={() => setDialog(null)} />
      )}
    </SpaceBetween>
  );
}

function readOverlays({ kind, id }: OverlayScope, cursor: string | null, signal: AbortSignal) {
  const query = pageQuery(cursor);
  if (kind === "platform") {
    return call(api.GET("/api/v1/policy-overlays", { params: { query }, signal }));
  }
  if (kind === "tenant") {
    const path = { org_id: id };
    return call(
      api.GET("/api/v1/tenants/{org_id}/policy-overlays", { params: { path, query }, signal }),
    );
  }
  const path = { project_id: id };
  return call(
    api.GET("/api/v1/projects/{project_id}/policy-overlays", { params: { path, query }, signal }),
  );
}

const COLUMNS: readonly Column<Overlay>[] = [
  {
    id: "name",
    header: "Name",
    cell: ({ name }) => name,
    value: ({ name }) => name,
    rowHeader: true,
  },
  {
    id: "rules",
    header: "Says",
    cell: ({ rules }) => rulesText(rules),
    value: ({ rules }) => rulesText(rules),
  },
  {
    id: "about",
    header: "Why",
    cell: ({ description }) => description || null,
    value: ({ description }) => description,
  },
  {
    id: "changed",
    header: "Changed",
    cell: ({ updated_at }) => <Moment at={updated_at} />,
    value: ({ updated_at }) => updated_at,
  },
];

function rulesText(rules: RuleSet): string {
  return Object.entries(rules)
    .map(([dimension, { allow, deny = [] }]) => {
      const parts = [
        allow ? `only ${allow.join(", ") || "nothing"}` : "",
        deny.length > 0 ? `never ${deny.join(", ")}` : "",
      ];
      return `${dimensionName(dimension)}: ${parts.filter(Boolean).join("; ")}`;
    })
    .join(". ");
}

function editColumn(open: (dialog: Dialog) => void): Column<Overlay> {
  return {
    id: "edit",
    header: "Change",
    cell: (of) => (
      <EditButtons
        name={of.name}
        endText="Remove"
        onEdit={() => open({ kind: "edit", of })}
        onEnd={() => open({ kind: "delete", of })}
      />
    ),
  };
}

interface OverlayDialogProps {
  readonly dialog: Dialog;
  readonly scope: OverlayScope;
  readonly onClose: () => void;
}

function OverlayDialog({ dialog, scope, onClose }: OverlayDialogProps) {
  if (dialog.kind === "delete") {
    return (
      <FormDialog
        title={`Remove ${dialog.of.name}?`}
        submitText="Remove"
        onClose={onClose}
        submit={(_, key) =>
          call(
            api.DELETE("/api/v1/policy-overlays/{overlay_id}", {
              params: { path: { overlay_id: dialog.of.id } },
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      >
        What it narrowed is open again, as far as the rules above allow.
      </FormDialog>
    );
  }
  const edited = dialog.kind === "edit" ? dialog.of : null;
  return (
    <FormDialog
      title={edited === null ? "Add rules" : edited.name}
      submitText="Save"
      size="large"
      schema={
        edited === null
          ? objectOf({ name: NAME, ...FIELDS }, "name", ...NEEDED)
          : objectOf(FIELDS, ...NEEDED)
      }
      initial={edited === null ? {} : fieldsOf(edited)}
      onClose={onClose}
      submit={(value, key) => save(edited, scope, value, key)}
    />
  );
}

/** What one dimension is narrowed to. Nothing at all is said on its own: an empty list of what is allowed could be
 * meant either way. */
const EVERYTHING = "everything";
const THESE = "these";
const NOTHING = "nothing";

const FIELDS: Readonly<Record<string, JsonObject>> = {
  description: { title: "Why", type: "string", maxLength: 2000, "x-widget": "textarea" },
  ...Object.fromEntries(DIMENSIONS.flatMap(fieldsOfDimension)),
};

/** Needed where they are drawn. */
const NEEDED = DIMENSIONS.flatMap((dimension) => [`may_${dimension}`, `allow_${dimension}`]);

function fieldsOfDimension(dimension: Dimension): [string, JsonObject][] {
  const name = dimensionName(dimension);
  const may = choice(
    `${name}: what may be used`,
    [
      { value: EVERYTHING, label: "Everything that holds above" },
      { value: THESE, label: "Only these" },
      { value: NOTHING, label: "Nothing" },
    ],
    { default: EVERYTHING },
  );
  const only = {
    ...patterns(`${name}: only these`),
    minItems: 1,
    "x-show-when": { pointer: `/may_${dimension}`, equals: THESE },
  };
  return [
    [`may_${dimension}`, may],
    [`allow_${dimension}`, only],
    [`deny_${dimension}`, patterns(`${name}: never these`)],
  ];
}

function patterns(title: string): JsonObject {
  return { title, type: "array", items: { type: "string" }, "x-help": "Names or patterns with *." };
}

function fieldsOf({ description, rules }: Overlay): JsonObject {
  const fields: Record<string, JsonObject[string]> = { description };
  for (const dimension of DIMENSIONS) {
    const { allow = null, deny = [] } = rules[dimension] ?? {};
    if (allow !== null) fields[`may_${dimension}`] = allow.length > 0 ? THESE : NOTHING;
    if (allow !== null && allow.length > 0) fields[`allow_${dimension}`] = [...allow];
    if (deny.length > 0) fields[`deny_${dimension}`] = [...deny];
  }
  return fields;
}

/** The rules that were edited, with what the form says in place of what they said; a dimension this console does
 * not know stays as it was. */
function rulesOf(edited: Overlay | null, value: JsonObject): RuleSet {
  const rules: RuleSet = { ...edited?.rules };
  for (const dimension of DIMENSIONS) {
    const allow = allowOf(dimension, value);
    const deny = words(value[`deny_${dimension}`]);
    if (allow !== null || deny.length > 0) rules[dimension] = { allow, deny };
    else delete rules[dimension];
  }
  return rules;
}

function allowOf(dimension: Dimension, value: JsonObject): string[] | null {
  const may = value[`may_${dimension}`];
  if (may === NOTHING) return [];
  return may === THESE ? words(value[`allow_${dimension}`]) : null;
}

function words(value: JsonObject[string] | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function save(
  edited: Overlay | null,
  { kind, id }: OverlayScope,
  value: JsonObject,
  key: string,
): Promise<unknown> {
  const headers = { "Idempotency-Key": key };
  const content = { description: String(value.description ?? ""), rules: rulesOf(edited, value) };
  if (edited !== null) {
    return call(
      api.PUT("/api/v1/policy-overlays/{overlay_id}", {
        params: { path: { overlay_id: edited.id } },
        body: content,
        headers: { ...headers, "If-Match": `"${edited.revision}"` },
      }),
    );
  }
  const body = { name: String(value.name), ...content };
  if (kind === "platform") return call(api.POST("/api/v1/policy-overlays", { body, headers }));
  if (kind === "tenant") {
    return call(
      api.POST("/api/v1/tenants/{org_id}/policy-overlays", {
        params: { path: { org_id: id } },
        body,
        headers,
      }),
    );
  }
  return call(
    api.POST("/api/v1/projects/{project_id}/policy-overlays", {
      params: { path: { project_id: id } },
      body,
      headers,
    }),
  );
}
