/** What an operation will do, in sentences, before it is asked for. Pure: everything said here was declared
 * by the app's team, or comes from the platform's preview. */

import type { Manifest, OperationSpec, Schemas } from "../api/contract.ts";
import { count } from "../widgets/words.ts";
import { topologyTitle } from "./placement.ts";

type Preview = Schemas["Preview"];

export function consequences(manifest: Manifest, spec: OperationSpec): string[] {
  const { lifecycle } = manifest;
  const said: (string | null | undefined)[] = [spec.description || meaning(spec)];
  if (spec.purpose === "upgrade" && lifecycle.upgrade) {
    const { description, snapshot, strategy } = lifecycle.upgrade;
    said.push(
      description,
      snapshot === false
        ? "Nothing is saved before it."
        : "State is saved before anything changes.",
      STRATEGIES[strategy ?? "restart"],
    );
  }
  if (spec.purpose === "rollback" && lifecycle.rollback) {
    const { loses, refused_when } = lifecycle.rollback;
    said.push(`It loses: ${loses}`, refused_when && `It is refused when: ${refused_when}`);
  }
  if (spec.purpose === "delete") {
    const { destroys, verifies_absence } = lifecycle.delete;
    said.push(
      `It destroys: ${destroys}`,
      verifies_absence
        ? "The app proves that nothing of it is left on the machines."
        : "The app does not prove that nothing of it is left on the machines.",
    );
  }
  if (spec.cancellable === false) said.push("It cannot be cancelled once it has begun.");
  return said.filter((sentence): sentence is string => Boolean(sentence));
}

/** What every operation of a purpose does, where the app's team has no words of its own for it. */
function meaning({ purpose, confirmation }: OperationSpec): string | undefined {
  return confirmation ? undefined : PURPOSES[purpose];
}

const PURPOSES: Readonly<Partial<Record<OperationSpec["purpose"], string>>> = {
  stop: "Nothing runs until it is started again; the machines stay held.",
  start: "What was stopped is brought back to work.",
  restart: "What runs is stopped and started again.",
  reconcile: "The app looks at what is there, and repairs what it finds changed.",
  member_add: "A new member on each machine that is named.",
  member_drain: "No new work comes to them; what runs there may end.",
  member_resume: "New work comes to them again.",
  member_remove: "They leave; their machines stay held, free for something else.",
  member_replace: "Another machine takes its place.",
};

/** What the platform says this very request would do. */
export function foreseen(manifest: Manifest, preview: Preview): string[] {
  const said = [];
  if (preview.target_version) said.push(`Version ${preview.target_version} runs afterwards.`);
  if (preview.operations > 1) {
    said.push(`${preview.operations} operations: each succeeds or fails on its own.`);
  }
  if (preview.new_members.length > 0) {
    said.push(`${count(preview.new_members.length, "new member")} will be made.`);
  }
  if (preview.topology_after !== preview.topology) {
    const before = topologyTitle(manifest, preview.topology);
    const after = topologyTitle(manifest, preview.topology_after);
    said.push(
      `The topology changes from “${before}” to “${after}”. ${preview.topology_text}`.trim(),
    );
  }
  if (preview.waits_for > 0) {
    said.push(`It waits for ${count(preview.waits_for, "operation")} that came before it.`);
  }
  return said;
}

const STRATEGIES: Readonly<Record<string, string>> = {
  rolling: "Members change one after the other; the whole goes on.",
  restart: "The app is restarted.",
  recreate: "The app is taken down and made anew.",
};
