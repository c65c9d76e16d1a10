import { Blob as NodeBlob } from "node:buffer";
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { artifactUpload } from "../../../src/api/upload.ts";
import { fakePlatform, json } from "../fake-platform.ts";

it("announces a file by its digest, sends the parts that are missing, and says that it is whole", async () => {
  const platform = fakePlatform();
  const content = "one two three";
  const parts = new Map([[1, "one t"]]); // came before a break
  platform.on("POST /api/v1/artifact-sources/src_1/artifacts", () =>
    json(201, { id: "art_1", status: "intended" }),
  );
  platform.on("GET /api/v1/artifacts/art_1/upload", () =>
    json(200, {
      part_size: 5,
      parts_total: 3,
      parts_received: parts.size,
      missing: [1, 2, 3].filter((number) => !parts.has(number)),
    }),
  );
  for (const number of [2, 3]) {
    platform.on(`PUT /api/v1/artifacts/art_1/parts/${number}`, async (request) => {
      const text = await request.text();
      const sum = createHash("sha256").update(text).digest("base64");
      expect(request.headers.get("Content-Digest")).toBe(`sha-256=:${sum}:`);
      expect(request.headers.get("Content-Type")).toBe("application/octet-stream");
      parts.set(number, text);
      return json(200, {});
    });
  }
  platform.on("POST /api/v1/artifacts/art_1/complete", () =>
    json(202, { id: "art_1", status: "ingesting" }),
  );

  const shares: number[] = [];
  const done = await artifactUpload({
    sourceId: "src_1",
    file: new NodeBlob([content]) as unknown as Blob,
    announced: { name: "tools", version: "1", platform: "any", description: "" },
    key: "web-1",
    onSent: (share) => shares.push(share),
  });

  expect(done.status).toBe("ingesting");
  expect(
    [...parts.entries()]
      .sort()
      .map(([, text]) => text)
      .join(""),
  ).toBe(content);
  expect(shares).toEqual([2 / 3, 1]);
  const digest = createHash("sha256").update(content).digest("hex");
  expect(await platform.requests[0]?.json()).toMatchObject({
    digest: `sha256:${digest}`,
    size: 13,
  });
});
