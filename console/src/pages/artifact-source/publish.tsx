/** Publishes an artifact: a file that is uploaded from here, or something a registry holds. */

import FileUpload from "@cloudscape-design/components/file-upload";
import FormField from "@cloudscape-design/components/form-field";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import { useState } from "react";
import { api, call } from "../../api/client.ts";
import type { JsonObject, Schemas } from "../../api/contract.ts";
import { Problem } from "../../api/problem.ts";
import { type Announced, artifactUpload, MOST_BYTES } from "../../api/upload.ts";
import { noticeDone } from "../../app/notices.ts";
import { FormDialog } from "../../forms/form-dialog.tsx";
import { objectOf } from "../../forms/own-schemas.ts";
import { bytes } from "../../widgets/words.ts";

type Source = Schemas["ArtifactSource"];

interface PublishProps {
  readonly source: Source;
  readonly onClose: () => void;
}

export function Publish({ source, onClose }: PublishProps) {
  const [file, setFile] = useState<File | null>(null);
  const [share, setShare] = useState<number | null>(null);
  const uploads = source.kind === "blob";
  return (
    <FormDialog
      title={`Publish to ${source.name}`}
      submitText="Publish"
      size="large"
      schema={uploads ? UPLOADED : PULLED}
      onClose={onClose}
      submit={async (value, key) => {
        const announced = announcedOf(value);
        const made = uploads
          ? await artifactUpload({
              sourceId: source.id,
              file: chosen(file),
              announced,
              key,
              onSent: setShare,
            })
          : await pulled(source, announced, String(value.digest), key);
        noticeDone(`${made.name} ${made.version} is being verified.`, `/artifacts/${made.id}`);
      }}
    >
      {uploads && (
        <FormField
          label="File"
          description={`Up to ${bytes(MOST_BYTES)}; what is larger is published from the command line.`}
        >
          <FileUpload
            value={file === null ? [] : [file]}
            onChange={({ detail }) => setFile(detail.value[0] ?? null)}
            showFileSize
            i18nStrings={{
              uploadButtonText: () => "Choose a file",
              dropzoneText: () => "Drop the file here",
              removeFileAriaLabel: () => "Take the file away",
            }}
          />
        </FormField>
      )}
      {share !== null && (
        <ProgressBar value={Math.round(share * 100)} label="Sent" description={file?.name} />
      )}
    </FormDialog>
  );
}

const WHAT: Readonly<Record<string, JsonObject>> = {
  name: {
    title: "Name",
    type: "string",
    pattern: "^[a-z0-9]+([._/+-]+[a-z0-9]+)*$",
    maxLength: 200,
    "x-pattern-help": "has lower-case words with . _ / + or - between them",
  },
  version: {
    title: "Version",
    type: "string",
    pattern: "^[A-Za-z0-9][A-Za-z0-9._+~:-]*$",
    maxLength: 100,
    "x-pattern-help": "begins with a letter or a digit",
  },
  platform: {
    title: "For",
    type: "string",
    default: "any",
    pattern: "^(any|[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9_]*)$",
    "x-pattern-help": "is a distribution and an architecture, such as debian-12/amd64, or any",
  },
  description: { title: "Description", type: "string", maxLength: 500 },
  signature: {
    title: "Signature",
    type: "string",
    maxLength: 400,
    pattern: "^[A-Za-z0-9+/]+={0,2}$",
    "x-pattern-help": "is base64, as cosign sign-blob writes it; it can follow later",
  },
};

const UPLOADED = objectOf(WHAT, "name", "version", "platform");
const PULLED = objectOf(
  {
    ...WHAT,
    digest: {
      title: "Digest of the manifest",
      type: "string",
      pattern: "^sha256:[0-9a-f]{64}$",
      "x-pattern-help": "is sha256: and 64 hexadecimal digits",
    },
  },
  "name",
  "version",
  "platform",
  "digest",
);

function announcedOf({ name, version, platform, description, signature }: JsonObject): Announced {
  return {
    name: String(name),
    version: String(version),
    platform: String(platform ?? "any"),
    description: String(description ?? ""),
    ...(signature ? { signature: String(signature) } : {}),
  };
}

/** The file, if it is one that can be sent from here. */
function chosen(file: File | null): File {
  if (file !== null && file.size > 0 && file.size <= MOST_BYTES) return file;
  throw new Problem({
    status: 0,
    code: "no_such_file",
    title: file === null ? "No file is chosen" : "This file cannot be sent from here",
    detail:
      file === null
        ? "Choose the file to publish."
        : `It has ${bytes(file.size)}; from a browser it may be up to ${bytes(MOST_BYTES)}, and not empty.`,
    correlationId: null,
    nextActions: ["fix_request"],
  });
}

function pulled(
  source: Source,
  announced: Announced,
  digest: string,
  key: string,
): Promise<Schemas["Artifact"]> {
  return call(
    api.POST("/api/v1/artifact-sources/{source_id}/artifacts", {
      params: { path: { source_id: source.id } },
      body: { ...announced, digest },
      headers: { "Idempotency-Key": key },
    }),
  );
}
