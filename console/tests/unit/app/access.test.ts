import { describe, expect, it } from "vitest";
import type { Whoami } from "../../../src/api/contract.ts";
import { canOf } from "../../../src/app/access.ts";
import { navigationOf } from "../../../src/app/navigation.ts";
import { person } from "../fake-platform.ts";

const READ = "apps.instance.read";
const here = { org_id: "org_1", project_id: "proj_1" };

function holder(scope: Whoami["permissions"][number]["scope"], onlyHere = false): Whoami {
  return {
    ...person("ada@example.org"),
    permissions: [{ scope, only_here: onlyHere, permissions: [READ, "catalog.app.read"] }],
  };
}

describe("what somebody may do", () => {
  it.each([
    ["the project", { kind: "project", org_id: "org_1", project_id: "proj_1" }, true],
    ["its tenant", { kind: "tenant", org_id: "org_1" }, true],
    ["the platform", { kind: "platform" }, true],
    ["another project", { kind: "project", org_id: "org_1", project_id: "proj_2" }, false],
    ["another tenant", { kind: "tenant", org_id: "org_2" }, false],
  ] as const)("holds in a project by a role at %s: %s", (_, scope, allowed) => {
    expect(canOf(holder(scope))(READ, here)).toBe(allowed);
  });

  it("does not reach down when it is for one place alone", () => {
    const can = canOf(holder({ kind: "platform" }, true));
    expect(can(READ, here)).toBe(false);
    expect(can(READ)).toBe(true);
  });

  it("is nothing for nobody", () => {
    expect(canOf(null)(READ)).toBe(false);
  });
});

describe("the navigation", () => {
  const project = { ...here, id: "proj_1", display_name: "Vision" } as never;

  it("has what the person may look at, and no more", () => {
    const items = JSON.stringify(
      navigationOf(holder({ kind: "tenant", org_id: "org_1" }), project),
    );
    expect(items).toContain("/projects/proj_1/catalog");
    expect(items).toContain("/projects/proj_1/instances");
    expect(items).not.toContain("/projects/proj_1/allocations");
    expect(items).not.toContain("Administer");
  });

  it("leads strangers to the platform's health alone", () => {
    expect(navigationOf(null, null)).toEqual([
      { type: "link", text: "Platform", href: "/platform" },
    ]);
  });
});
