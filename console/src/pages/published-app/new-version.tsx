/** Adds a version: its number and its manifest, checked by the platform before it is sent. */

import Alert from "@cloudscape-design/components/alert";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import { isJsonObject, type JsonObject, type Schemas } from "../../api/contract.ts";
import { Problem } from "../../api/problem.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";

interface NewVersionProps {
  readonly slug: string;
  readonly onClose: () => void;
}

const SCHEMA = objectOf(
  {
    version: {
      title: "Version",
      type: "string",
      pattern: "^\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?$",
      "x-pattern-help": "is a semantic version such as 1.4.2",
    },
    manifest: {
      title: "Manifest",
      type: "object",
      "x-widget": "json",
      "x-help": "JSON, as the app's build wrote it.",
    },
    notes: { title: "Notes", type: "string", maxLength: 2000, "x-widget": "textarea" },
    publish: { title: "Publish at once", type: "boolean", default: false },
  },
  "version",
  "manifest",
);

export function NewVersion({ slug, onClose }: NewVersionProps) {
  const [valid, setValid] = useState(false);
  return (
    <FormDialog
      title={`Add a version of ${slug}`}
      submitText="Add"
      size="large"
      schema={SCHEMA}
      onClose={onClose}
      submit={async (value, key) => {
        await validated(value);
        setValid(true);
        await call(
          api.POST("/api/v1/apps/{slug}/versions", {
            params: { path: { slug } },
            body: {
              version: String(value.version),
              manifest: value.manifest as unknown as Schemas["Manifest"],
              notes: String(value.notes ?? ""),
              publish: value.publish === true,
            },
            headers: { "Idempotency-Key": key },
          }),
        );
      }}
    >
      {valid && <Alert type="success">The manifest holds together.</Alert>}
    </FormDialog>
  );
}

/** Every fault of the manifest at once, each with its pointer. */
async function validated({ manifest }: JsonObject): Promise<void> {
  if (!isJsonObject(manifest)) return;
  const checked = await call(
    api.POST("/api/v1/manifest-validations", {
      body: { manifest: manifest as unknown as Schemas["Manifest"] },
    }),
  );
  if (checked.valid) return;
  throw new Problem({
    status: 422,
    code: "invalid_manifest",
    title: "The manifest does not hold together",
    detail: "Nothing was stored.",
    correlationId: null,
    nextActions: ["fix_request"],
    fieldErrors: checked.errors,
  });
}
