import { act, render, screen } from "@testing-library/react";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { RouterProvider } from "../../../src/app/router.tsx";
import { forgetReadings } from "../../../src/live/kept.ts";
import ArtifactPage from "../../../src/pages/artifact/index.tsx";
import { type FakePlatform, fakePlatform, json } from "../fake-platform.ts";

const AT = "2026-03-14T09:30:00Z";
const KEY = "akey_00000000000000000000000001";
const artifact = {
  id: "art_1",
  org_id: null,
  source_id: "src_1",
  source_address: "blob://platform/base",
  name: "tool",
  version: "1",
  description: "",
  platform: "linux/amd64",
  digest: null,
  size: null,
  status: "published",
  status_reason: "",
  trust: "verified",
  trust_reason: "",
  key_id: KEY,
  channels: [],
  created_by: "user_1",
  correlation_id: "cor-1",
  created_at: AT,
  published_at: AT,
};

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
  platform.on("GET /api/v1/artifacts/art_1", () => json(200, artifact));
});

async function open(): Promise<void> {
  await act(async () =>
    render(
      <RouterProvider>
        <Suspense>
          <ArtifactPage params={{ artifact_id: "art_1" }} />
        </Suspense>
      </RouterProvider>,
    ),
  );
  await screen.findByRole("heading", { name: "tool 1" });
}

it("names the key that vouched for it", async () => {
  platform.on("GET /api/v1/artifact-sources/src_1/keys", () =>
    json(200, { items: [{ id: KEY, name: "release-2026" }] }),
  );
  await open();
  expect((await screen.findByText("release-2026")).title).toBe(KEY);
});

it("shows the id of a key whose name is not told", async () => {
  await open();
  expect(screen.getByTitle(KEY).textContent).toBe("akey_…000001");
});
