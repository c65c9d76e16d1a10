/** Publishes, deprecates or withdraws a version, and says what that means. */

import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";

type Summary = Schemas["AppVersionSummary"];

export interface VersionChange {
  readonly kind: "publish" | "deprecate" | "withdraw";
  readonly of: Summary;
}

interface VersionDialogProps {
  readonly change: VersionChange;
  readonly onClose: () => void;
}

const TEXTS = {
  publish: {
    title: "Publish",
    meaning: "Whoever is entitled to it can deploy it.",
  },
  deprecate: {
    title: "Deprecate",
    meaning: "It can still be deployed, but everybody is told not to, and what to choose instead.",
  },
  withdraw: {
    title: "Withdraw",
    meaning: "It can never be deployed again. What runs goes on and can be operated.",
  },
} as const;

const WHY: JsonObject = {
  title: "Why",
  type: "string",
  minLength: 1,
  maxLength: 2000,
  "x-widget": "textarea",
};

export function VersionDialog({ change: { kind, of }, onClose }: VersionDialogProps) {
  const { title, meaning } = TEXTS[kind];
  const asks =
    kind === "publish"
      ? {}
      : {
          schema: objectOf(
            { why: WHY, replacement: { title: "Version to choose instead", type: "string" } },
            "why",
          ),
        };
  return (
    <FormDialog
      title={`${title} ${of.app_slug} ${of.version}?`}
      submitText={title}
      {...asks}
      onClose={onClose}
      submit={(value, key) => perform(kind, of, value, key)}
    >
      {meaning}
    </FormDialog>
  );
}

function perform(
  kind: VersionChange["kind"],
  { app_slug: slug, version }: Summary,
  { why, replacement }: JsonObject,
  key: string,
): Promise<unknown> {
  const common = { params: { path: { slug, version } }, headers: { "Idempotency-Key": key } };
  const instead = replacement === undefined ? {} : { replacement: String(replacement) };
  if (kind === "publish") {
    return call(api.POST("/api/v1/apps/{slug}/versions/{version}/publish", common));
  }
  if (kind === "deprecate") {
    const body = { message: String(why), ...instead };
    return call(api.POST("/api/v1/apps/{slug}/versions/{version}/deprecate", { ...common, body }));
  }
  const body = { reason: String(why), ...instead };
  return call(api.POST("/api/v1/apps/{slug}/versions/{version}/withdraw", { ...common, body }));
}
