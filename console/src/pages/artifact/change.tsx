/** Everything that can be done with an artifact, in which state, and what it means. */

import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { NAME, objectOf, REASON } from "../../forms/own-schemas.ts";

type Artifact = Schemas["Artifact"];
export type Change = "promote" | "deprecate" | "restore" | "retire" | "revoke" | "sign" | "cancel";

export const CHANGES: Readonly<Record<Artifact["status"], readonly Change[]>> = {
  intended: ["cancel"],
  ingesting: ["cancel"],
  published: ["promote", "sign", "deprecate", "retire", "revoke"],
  promoted: ["promote", "sign", "deprecate", "retire", "revoke"],
  deprecated: ["restore", "sign", "retire", "revoke"],
  retired: [],
  failed: [],
};

export const TITLES: Readonly<Record<Change, string>> = {
  promote: "Promote",
  deprecate: "Deprecate",
  restore: "Restore",
  retire: "Retire",
  revoke: "Revoke",
  sign: "Sign",
  cancel: "Give up",
};

const MEANINGS: Readonly<Record<Change, string>> = {
  promote: "Whoever asks for the channel gets this one from now on.",
  deprecate: "It can still be fetched; whoever asks for it is warned.",
  restore: "The deprecation is taken back.",
  retire: "Its content is deleted and no machine can fetch it again. Its record stays.",
  revoke:
    "It is distrusted and retired at once, everywhere. For what must not be used; it cannot be taken back.",
  sign: "The signature is judged by the keys the source trusts.",
  cancel: "What has arrived of it is deleted.",
};

const FORMS: Readonly<Partial<Record<Change, JsonObject>>> = {
  promote: objectOf({ channel: { ...NAME, title: "Channel", default: "stable" } }, "channel"),
  deprecate: objectOf({ reason: { ...REASON, title: "What to tell them" } }, "reason"),
  retire: objectOf({ reason: REASON }, "reason"),
  revoke: objectOf({ reason: REASON }, "reason"),
  cancel: objectOf({ reason: REASON }, "reason"),
  sign: objectOf(
    {
      signature: {
        title: "Signature",
        type: "string",
        pattern: "^[A-Za-z0-9+/]+={0,2}$",
        maxLength: 400,
        "x-widget": "textarea",
        "x-pattern-help": "is base64, as cosign sign-blob writes it",
      },
    },
    "signature",
  ),
};

interface ArtifactDialogProps {
  readonly artifact: Artifact;
  readonly change: Change;
  readonly onClose: () => void;
}

export function ArtifactDialog({ artifact, change, onClose }: ArtifactDialogProps) {
  const form = FORMS[change];
  return (
    <FormDialog
      title={`${TITLES[change]} ${artifact.name} ${artifact.version}?`}
      submitText={TITLES[change]}
      {...(form === undefined ? {} : { schema: form })}
      onClose={onClose}
      submit={(value, key) => perform(artifact, change, value, key)}
    >
      {MEANINGS[change]}
    </FormDialog>
  );
}

function perform(
  { id }: Artifact,
  change: Change,
  value: JsonObject,
  key: string,
): Promise<unknown> {
  const to = { params: { path: { artifact_id: id } }, headers: { "Idempotency-Key": key } };
  const reason = { reason: String(value.reason ?? "") };
  switch (change) {
    case "promote":
      return call(
        api.POST("/api/v1/artifacts/{artifact_id}/promote", {
          ...to,
          body: { channel: String(value.channel) },
        }),
      );
    case "deprecate":
      return call(
        api.POST("/api/v1/artifacts/{artifact_id}/deprecate", {
          ...to,
          body: { message: reason.reason },
        }),
      );
    case "restore":
      return call(api.POST("/api/v1/artifacts/{artifact_id}/restore", to));
    case "retire":
      return call(api.POST("/api/v1/artifacts/{artifact_id}/retire", { ...to, body: reason }));
    case "revoke":
      return call(api.POST("/api/v1/artifacts/{artifact_id}/revoke", { ...to, body: reason }));
    case "sign":
      return call(
        api.POST("/api/v1/artifacts/{artifact_id}/sign", {
          ...to,
          body: { signature: String(value.signature) },
        }),
      );
    case "cancel":
      return call(api.POST("/api/v1/artifacts/{artifact_id}/cancel", { ...to, body: reason }));
  }
}
