/** Sends a file to the platform as an artifact: what it will be, its parts, each with its digest, then the
 * word that it is whole. Called by the page of a source. After a break only what is missing is sent. */

import { api, call } from "./client.ts";
import type { Schemas } from "./contract.ts";
import { Problem } from "./problem.ts";

/** The browser digests a file in memory alone; what is larger is published from the command line. */
export const MOST_BYTES = 512 * 1024 * 1024;

const BINARY = "application/octet-stream";

export interface Announced {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly description: string;
  readonly signature?: string;
}

interface Upload {
  readonly sourceId: string;
  readonly file: Blob;
  readonly announced: Announced;
  readonly key: string;
  readonly onSent: (share: number) => void;
}

/** Publishes a file; the platform then verifies the whole. Throws a Problem. */
export async function artifactUpload(upload: Upload): Promise<Schemas["Artifact"]> {
  const { sourceId, file, announced, key, onSent } = upload;
  const whole = hex(await digest(file));
  const artifact = await call(
    api.POST("/api/v1/artifact-sources/{source_id}/artifacts", {
      params: { path: { source_id: sourceId } },
      body: { ...announced, digest: `sha256:${whole}`, size: file.size },
      headers: { "Idempotency-Key": `${key}-${whole.slice(0, 16)}` }, // another file is another wish
    }),
  );
  if (artifact.status !== "intended") return artifact;
  await partsSend(artifact.id, file, onSent);
  return call(
    api.POST("/api/v1/artifacts/{artifact_id}/complete", {
      params: { path: { artifact_id: artifact.id } },
    }),
  );
}

async function partsSend(id: string, file: Blob, onSent: (share: number) => void): Promise<void> {
  const path = { artifact_id: id };
  for (;;) {
    const state = await call(
      api.GET("/api/v1/artifacts/{artifact_id}/upload", { params: { path } }),
    );
    if (state.missing.length === 0) return;
    let sent = state.parts_received;
    for (const number of state.missing) {
      const begin = (number - 1) * state.part_size;
      await partSend(id, number, file.slice(begin, begin + state.part_size));
      sent += 1;
      onSent(sent / state.parts_total);
    }
  }
}

async function partSend(id: string, number: number, part: Blob): Promise<void> {
  const sum = btoa(String.fromCharCode(...(await digest(part))));
  await call(
    api.PUT("/api/v1/artifacts/{artifact_id}/parts/{number}", {
      params: {
        path: { artifact_id: id, number },
        header: { "Content-Digest": `sha-256=:${sum}:` },
      },
      body: part as unknown as string, // a body of bytes has no type of its own in the contract
      bodySerializer: (body) => body,
      headers: { "Content-Type": BINARY },
    }),
  );
}

async function digest(content: Blob): Promise<Uint8Array> {
  if (!("subtle" in crypto)) {
    throw new Problem({
      status: 0,
      code: "insecure_connection",
      title: "The file cannot be digested here",
      detail: "A browser digests files over HTTPS alone. Publish it from the command line.",
      correlationId: null,
    });
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await content.arrayBuffer()));
}

function hex(content: Uint8Array): string {
  return [...content].map((one) => one.toString(16).padStart(2, "0")).join("");
}
