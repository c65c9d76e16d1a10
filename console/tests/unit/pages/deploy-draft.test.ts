import { describe, expect, it } from "vitest";
import type { ProjectApp } from "../../../src/forms/project-app.ts";
import {
  type Draft,
  isTyped,
  NO_DRAFT,
  settled,
  versionChosen,
} from "../../../src/pages/deploy/draft.ts";

function app(...available: string[]): ProjectApp {
  const versions = ["1.0.0", "2.0.0"].map((version) => ({
    version,
    available: available.includes(version),
  }));
  return { versions, latest_available: available.at(-1) ?? null } as unknown as ProjectApp;
}

const draft: Draft = { ...NO_DRAFT, version: "1.0.0", settings: { port: 1 }, step: 2 };

describe("the version of a draft", () => {
  it("is the latest to begin with", () => {
    expect(settled(NO_DRAFT, app("1.0.0", "2.0.0"))).toEqual({ ...NO_DRAFT, version: "2.0.0" });
  });

  it("stays as long as it can be deployed", () => {
    expect(settled(draft, app("1.0.0", "2.0.0"))).toBe(draft);
  });

  it("gives way when it was withdrawn: said on the first step, with every answer kept", () => {
    const other = settled(draft, app("2.0.0"));
    expect(other).toEqual({
      ...draft,
      version: "2.0.0",
      settings: null,
      answers: { port: 1 },
      replaced: "1.0.0",
      step: 0,
    });
    expect(settled(other, app("2.0.0"))).toBe(other);
  });

  it("is none when there is none left, and nothing is lost", () => {
    const none = settled(draft, app());
    expect(none).toMatchObject({ version: null, replaced: "1.0.0", step: 0 });
    expect(settled(none, app())).toBe(none);
    expect(settled(none, app("2.0.0"))).toMatchObject({
      version: "2.0.0",
      replaced: "1.0.0",
      answers: { port: 1 },
    });
  });

  it("is chosen again without a change", () => {
    expect(versionChosen(draft, "1.0.0")).toBe(draft);
  });

  it("keeps the answers through two changes", () => {
    const twice = versionChosen(versionChosen(draft, "2.0.0"), "1.0.0");
    expect(twice).toMatchObject({ version: "1.0.0", settings: null, answers: { port: 1 } });
  });
});

it("knows whether anything was typed", () => {
  const fresh = { ...NO_DRAFT, version: "1.0.0", name: "web-1", suggested: "web-1" };
  expect(isTyped(fresh)).toBe(false);
  expect(isTyped({ ...fresh, name: "mine" })).toBe(true);
  expect(isTyped({ ...fresh, settings: {} })).toBe(true);
});
