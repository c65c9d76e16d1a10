/** What the page of an instance waits for before its first screen is drawn. */

import { describe, expect, it } from "vitest";
import type { AppInstance, Manifest } from "../../../src/api/contract.ts";
import { standsAlone } from "../../../src/pages/instance/read.ts";
import { INSTANCE, MANIFEST } from "../manifest/scene.ts";

const WELL = { ...INSTANCE, status: "running", health: "healthy" } as AppInstance;

function withPanels(...panels: { kind: string; source?: string }[]): Manifest {
  return { ...MANIFEST, panels } as unknown as Manifest;
}

const QUIET = withPanels({ kind: "status" }, { kind: "facts" }, { kind: "topology" });

describe("the first screen of an instance", () => {
  it("stands alone where the instance is well and its first panels are about itself", () => {
    expect(standsAlone(WELL, QUIET, "")).toBe(true);
    expect(standsAlone({ ...WELL, status: "stopped" }, QUIET, "")).toBe(true);
  });

  it.each([
    { status: "deploying" },
    { status: "degraded" },
    { status: "deleting" },
    { health: "unreachable" },
    { health: "failed" },
  ] as Partial<AppInstance>[])("waits for members and operations when it is %o", (changed) => {
    expect(standsAlone({ ...WELL, ...changed }, QUIET, "")).toBe(false);
  });

  it("waits where members stand first, and on another tab", () => {
    const pictureFirst = withPanels({ kind: "topology" }, { kind: "facts" });
    const membersFirst = withPanels({ kind: "table", source: "members" }, { kind: "topology" });
    expect(standsAlone(WELL, pictureFirst, "")).toBe(false);
    expect(standsAlone(WELL, membersFirst, "")).toBe(false);
    expect(standsAlone(WELL, QUIET, "members")).toBe(false);
  });
});
