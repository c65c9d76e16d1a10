import { describe, expect, it } from "vitest";
import type { OperationSpec } from "../../../src/api/contract.ts";
import { instanceActions, memberActions } from "../../../src/manifest/actions.ts";
import { consequences, foreseen } from "../../../src/manifest/consequences.ts";
import { INSTANCE, MANIFEST, member } from "./scene.ts";

const anything = () => true;
const scene = { manifest: MANIFEST, instance: INSTANCE, can: anything };
const [end] = MANIFEST.operations.filter(({ kind }) => kind === "end");

describe("the actions of an instance", () => {
  it("hold the way to take it down, named in the manifest or not, with the reason when it is shut", () => {
    expect(instanceActions(scene)).toMatchObject([
      { action: { label: "End" }, available: false, reason: "It ends already." },
    ]);
  });

  it("are not offered to whoever may not ask for them", () => {
    expect(instanceActions({ ...scene, can: () => false })).toEqual([]);
    const can = (permission: string) => permission !== "scheduler.node.operate";
    expect(memberActions({ ...scene, can }, [member("hand", "ready")])).toEqual([]);
  });
});

describe("the actions of members", () => {
  const reason = (...members: ReturnType<typeof member>[]) =>
    memberActions(scene, members)[0]?.reason;

  it("say why they are not for these members", () => {
    expect(reason()).toBe("Choose members first.");
    expect(reason(member("head", "ready"))).toBe("Rest is not for “Head” that is ready.");
    expect(reason(member("hand", "drained"))).toBe("Rest is not for “Hand” that is drained.");
    const three = [1, 2, 3].map(() => member("hand", "ready"));
    expect(reason(...three)).toBe("At most 2 at a time.");
    expect(reason(member("hand", "ready"))).toBe("");
  });

  it("hold in their topologies alone", () => {
    const instance = { ...INSTANCE, topology: "one" };
    const [rest] = memberActions({ ...scene, instance }, [member("hand", "ready")]);
    expect(rest?.reason).toBe("Only with: Many machines.");
  });
});

describe("what will happen", () => {
  it("is what the app's team declared", () => {
    expect(end && consequences(MANIFEST, end)).toEqual([
      "It destroys: Everything.",
      "The app proves that nothing of it is left on the machines.",
    ]);
  });

  it("is what its purpose means, where the team has no words for it", () => {
    const start = { kind: "wake", title: "Wake", purpose: "start" } as OperationSpec;
    expect(consequences(MANIFEST, start)).toEqual(["What was stopped is brought back to work."]);
    expect(consequences(MANIFEST, { ...start, description: "It wakes." })).toEqual(["It wakes."]);
  });

  it("is what the platform foresees of this very request", () => {
    const preview = {
      kind: "add",
      operations: 3,
      new_members: [1, 2, 3].map((n) => ({
        component_key: "hand",
        allocation_id: `a${n}`,
        shared: false,
      })),
      topology: "one",
      topology_after: "many",
      topology_text: "They talk to each other.",
      confirmation: "",
      waits_for: 1,
    };
    expect(foreseen(MANIFEST, preview)).toEqual([
      "3 operations: each succeeds or fails on its own.",
      "3 new members will be made.",
      "The topology changes from “One machine” to “Many machines”. They talk to each other.",
      "It waits for 1 operation that came before it.",
    ]);
  });
});
