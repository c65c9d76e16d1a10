/** Entitlements of a tenant or a project: which apps, which versions, within which bounds. For whoever may
 * set them; everybody else sees the effect in the catalog. */

import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import { useState } from "react";
import { api, call } from "../api/client.ts";
import type { JsonObject, Place, Schemas } from "../api/contract.ts";
import { pageQuery } from "../api/pages.ts";
import { useCan } from "../app/access.ts";
import { useProject } from "../app/place.ts";
import { FormDialog } from "../forms/form-dialog.tsx";
import { NAME, objectOf } from "../forms/own-schemas.ts";
import { useList } from "../live/use-list.ts";
import { type Column, DataTable } from "./data-table.tsx";
import { EditButtons } from "./edit-buttons.tsx";
import { Empty } from "./empty.tsx";
import { Moment } from "./moment.tsx";

type Entitlement = Schemas["Entitlement"];
type Overlay = Schemas["SettingsOverlay"];

interface EntitlementTableProps {
  readonly scope: { readonly kind: "tenant" | "project"; readonly id: string };
  /** Only of this app. */
  readonly slug?: string;
}

type Dialog = { kind: "new" } | { kind: "edit" | "delete"; of: Entitlement };

export function EntitlementTable({ scope, slug }: EntitlementTableProps) {
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const manages = useManages(scope);
  const pageOfApp = usePageOfApp(scope);
  const list = useList(
    `entitlements:${scope.kind}:${scope.id}`,
    (cursor, signal) => readEntitlements(scope, cursor, signal),
    { on: ({ type }) => type.startsWith("catalog.entitlement") },
  );
  const items =
    list.items?.filter(({ app_slug }) => slug === undefined || app_slug === slug) ?? null;
  return (
    <>
      <DataTable
        name="entitlements"
        title="Entitlements"
        description={`Which apps this ${scope.kind} may use, and within which bounds.`}
        list={{ ...list, items }}
        idOf={({ id }) => id}
        columns={[appColumn(pageOfApp), ...COLUMNS, ...(manages ? [editColumn(setDialog)] : [])]}
        actions={manages && <Button onClick={() => setDialog({ kind: "new" })}>Entitle</Button>}
        empty={
          <Empty title="Nothing is entitled here">
            Without an entitlement an app cannot be deployed.
          </Empty>
        }
      />
      {dialog !== null && (
        <EntitlementDialog
          dialog={dialog}
          scope={scope}
          {...(slug === undefined ? {} : { slug })}
          onClose={() => setDialog(null)}
        />
      )}
    </>
  );
}

function useManages({ kind, id }: EntitlementTableProps["scope"]): boolean {
  const can = useCan();
  const project = useProject();
  const place: Place =
    kind === "tenant"
      ? { org_id: id, project_id: null }
      : { org_id: project?.org_id ?? null, project_id: id };
  return can("catalog.entitlement.manage", place);
}

/** Where one reads about an app: in the project's catalog; what is published, whoever publishes. */
function usePageOfApp({
  kind,
  id,
}: EntitlementTableProps["scope"]): (slug: string) => string | null {
  const publishes = useCan()("catalog.app.publish");
  if (kind === "project") return (slug) => `/projects/${id}/catalog/${slug}`;
  return (slug) => (publishes ? `/admin/apps/${slug}` : null);
}

function appColumn(pageOfApp: (slug: string) => string | null): Column<Entitlement> {
  return {
    id: "app",
    header: "App",
    cell: ({ app_slug }) => {
      const page = pageOfApp(app_slug);
      return page === null ? app_slug : <Link href={page}>{app_slug}</Link>;
    },
    value: ({ app_slug }) => app_slug,
    rowHeader: true,
  };
}

function readEntitlements(
  { kind, id }: EntitlementTableProps["scope"],
  cursor: string | null,
  signal: AbortSignal,
) {
  const query = pageQuery(cursor);
  return kind === "tenant"
    ? call(
        api.GET("/api/v1/tenants/{org_id}/entitlements", {
          params: { path: { org_id: id }, query },
          signal,
        }),
      )
    : call(
        api.GET("/api/v1/projects/{project_id}/entitlements", {
          params: { path: { project_id: id }, query },
          signal,
        }),
      );
}

const COLUMNS: readonly Column<Entitlement>[] = [
  {
    id: "versions",
    header: "Versions",
    cell: ({ versions }) => versions?.join(", ") ?? "All",
    value: ({ versions }) => versions?.join(" ") ?? "all",
  },
  {
    id: "bounds",
    header: "Bounds of the deploy form",
    cell: ({ settings }) => bounds(settings),
    value: ({ settings }) => bounds(settings),
  },
  {
    id: "since",
    header: "Since",
    cell: ({ created_at }) => <Moment at={created_at} />,
    value: ({ created_at }) => created_at,
  },
];

function bounds({ fixed = {}, limits = {}, defaults = {} }: Overlay): string | null {
  const said = [
    ...Object.entries(fixed).map(([at, value]) => `${at} is ${JSON.stringify(value)}`),
    ...Object.entries(limits).map(([at, limit]) => `${at} within ${JSON.stringify(limit)}`),
    ...Object.entries(defaults).map(([at, value]) => `${at} begins as ${JSON.stringify(value)}`),
  ];
  return said.join("; ") || null;
}

function editColumn(open: (dialog: Dialog) => void): Column<Entitlement> {
  return {
    id: "edit",
    header: "Change",
    cell: (of) => (
      <EditButtons
        name={of.app_slug}
        endText="Take back"
        onEdit={() => open({ kind: "edit", of })}
        onEnd={() => open({ kind: "delete", of })}
      />
    ),
  };
}

interface EntitlementDialogProps {
  readonly dialog: Dialog;
  readonly scope: EntitlementTableProps["scope"];
  readonly slug?: string;
  readonly onClose: () => void;
}

function EntitlementDialog({ dialog, scope, slug, onClose }: EntitlementDialogProps) {
  if (dialog.kind === "delete") {
    return (
      <FormDialog
        title={`Take back the entitlement to ${dialog.of.app_slug}?`}
        submitText="Take back"
        onClose={onClose}
        submit={(_, key) =>
          call(
            api.DELETE("/api/v1/entitlements/{entitlement_id}", {
              params: { path: { entitlement_id: dialog.of.id } },
              headers: { "Idempotency-Key": key },
            }),
          )
        }
      >
        Nothing new can be deployed from it. What runs goes on and can be operated.
      </FormDialog>
    );
  }
  const edited = dialog.kind === "edit" ? dialog.of : null;
  return (
    <FormDialog
      title={edited === null ? "Entitle" : `Entitlement to ${edited.app_slug}`}
      submitText="Save"
      size="large"
      onClose={onClose}
      schema={
        edited === null
          ? objectOf({ app_slug: { ...NAME, title: "App" }, ...FIELDS }, "app_slug")
          : objectOf(FIELDS)
      }
      initial={initialOf(edited, slug)}
      submit={(value, key) => save(edited, scope, value, key)}
    />
  );
}

const FIELDS: Readonly<Record<string, JsonObject>> = {
  versions: {
    title: "Versions",
    type: "array",
    items: { type: "string" },
    "x-help": "Patterns such as 1.* or 2.0.3; all when left empty.",
  },
  fixed: pointerMap("Fixed values", "They cannot be chosen otherwise."),
  defaults: pointerMap("Values to begin with", "They stand in for what is not chosen."),
  limits: {
    ...pointerMap("Limits", 'By field, such as {"/settings/port": {"maximum": 9000}}.'),
    "x-widget": "json",
  },
};

function pointerMap(title: string, help: string): JsonObject {
  return {
    title,
    type: "object",
    "x-widget": "json",
    "x-help": `${help} By JSON pointer into the deploy form, such as {"/settings/port": 8080}.`,
  };
}

function initialOf(edited: Entitlement | null, slug: string | undefined): JsonObject {
  if (edited === null) return slug === undefined ? {} : { app_slug: slug };
  const { fixed = {}, defaults = {}, limits = {} } = edited.settings;
  return JSON.parse(
    JSON.stringify({ versions: edited.versions ?? [], fixed, defaults, limits }),
  ) as JsonObject;
}

function save(
  edited: Entitlement | null,
  { kind, id }: EntitlementTableProps["scope"],
  value: JsonObject,
  key: string,
): Promise<unknown> {
  const { app_slug, versions, fixed = {}, defaults = {}, limits = {} } = value;
  const headers = { "Idempotency-Key": key };
  const content = {
    ...(Array.isArray(versions) && versions.length > 0 ? { versions: versions as string[] } : {}),
    settings: { fixed, defaults, limits } as Overlay,
  };
  if (edited !== null) {
    return call(
      api.PUT("/api/v1/entitlements/{entitlement_id}", {
        params: { path: { entitlement_id: edited.id } },
        body: content,
        headers: { ...headers, "If-Match": `"${edited.revision}"` },
      }),
    );
  }
  const body = { app_slug: String(app_slug), ...content };
  return kind === "tenant"
    ? call(
        api.POST("/api/v1/tenants/{org_id}/entitlements", {
          params: { path: { org_id: id } },
          body,
          headers,
        }),
      )
    : call(
        api.POST("/api/v1/projects/{project_id}/entitlements", {
          params: { path: { project_id: id } },
          body,
          headers,
        }),
      );
}
