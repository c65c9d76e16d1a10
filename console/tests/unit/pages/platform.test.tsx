import { act, render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Suspense } from "react";
import { beforeEach, expect, it } from "vitest";
import { connection } from "../../../src/live/connection.ts";
import { forgetReadings } from "../../../src/live/kept.ts";
import PlatformPage from "../../../src/pages/platform/index.tsx";
import { type FakePlatform, fakePlatform, json, problem } from "../fake-platform.ts";

const checks = [
  { name: "database", ok: true, detail: "reachable" },
  { name: "schema", ok: true },
];

let platform: FakePlatform;

beforeEach(() => {
  forgetReadings();
  platform = fakePlatform();
  platform.on("GET /api/v1/health/ready", () => json(200, { status: "ready", checks }));
  platform.on("GET /api/v1/version", () => json(200, { version: "1.2.3", schema_revision: 7 }));
});

function open() {
  return act(async () =>
    render(
      <Suspense>
        <PlatformPage />
      </Suspense>,
    ),
  );
}

async function refresh(): Promise<void> {
  await userEvent.click(screen.getByRole("button", { name: "Refresh" }));
}

it("shows readiness, checks and version", async () => {
  const { unmount } = await open();
  for (const text of ["Ready", "1.2.3", "7", "database", "reachable"]) {
    expect(await screen.findByText(text)).toBeDefined();
  }
  expect(connection.get()).toBe("live");
  unmount();
  expect(connection.get()).toBeNull();
});

it("takes a 503 that says what is not ready for the answer it is", async () => {
  platform.on("GET /api/v1/health/ready", () =>
    json(503, {
      status: "not_ready",
      checks: [{ name: "database", ok: false, detail: "refused" }],
    }),
  );
  await open();
  expect(await screen.findByText("Not ready")).toBeDefined();
  expect(screen.getByText("Failing")).toBeDefined();
  expect(screen.getByText("1 of 1 not in order")).toBeDefined();
  expect(screen.queryByRole("alert")).toBeNull();
});

it("never shows what was known as what is", async () => {
  await open();
  await screen.findByText("Ready");
  platform.on("GET /api/v1/version", () => Promise.reject(new TypeError("down")));
  await refresh();
  expect((await screen.findByRole("alert")).textContent).toContain("The platform does not answer");
  expect(screen.getByText("Unknown, was ready")).toBeDefined();
  expect(screen.getAllByText("Was in order")).toHaveLength(2);
  expect(connection.get()).toBe("reconnecting");
});

it("shows what it has read before until it has read again", async () => {
  const { unmount } = await open();
  await screen.findByText("Ready");
  unmount();
  platform.on("GET /api/v1/version", () => new Promise(() => undefined));
  await open();
  expect(screen.getByText("Ready")).toBeDefined();
  expect(screen.getByText("just now")).toBeDefined();
});

it("is unknown, not failed, when nothing was ever read", async () => {
  platform.on("GET /api/v1/health/ready", () => Promise.reject(new TypeError("down")));
  await open();
  expect(await screen.findByText("Unknown")).toBeDefined();
});

it("shows a problem the platform answers with", async () => {
  platform.on("GET /api/v1/health/ready", () =>
    problem(500, "internal", { correlation_id: "cor-9" }),
  );
  await open();
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("internal");
  expect(alert.textContent).toContain("cor-9");
  expect(connection.get()).toBe("live");
});

it("does not take another page for an answer", async () => {
  platform.on("GET /api/v1/health/ready", () => json(200, { hello: "world" }));
  await open();
  expect((await screen.findByRole("alert")).textContent).toContain("unexpected_answer");
});

it("says what to do about a platform that does not answer, and under which id it was asked", async () => {
  platform.on("GET /api/v1/health/ready", () => Promise.reject(new TypeError("down")));
  await open();
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("unreachable");
  expect(alert.textContent).toMatch(/Correlation id.*web_/);
  expect(within(alert).getAllByRole("listitem").length).toBeGreaterThan(0);
  expect(within(alert).getByRole("button", { name: "Try now" })).toBeDefined();
});
