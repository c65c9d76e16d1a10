/** Which members an input would make, and on which allocations: the manifest's placement rules, applied to
 * what is typed so far. Pure. The platform applies the same rules, and its word is final. */

import type { JsonObject, Manifest, OperationSpec } from "../api/contract.ts";
import { readAt } from "../forms/pointers.ts";
import { same } from "../forms/schema.ts";

export interface Seat {
  readonly component: string;
  readonly allocationId: string;
  readonly pointer: string;
}

export function seatsOf(operation: OperationSpec, input: JsonObject): Seat[] {
  return (operation.placement ?? []).flatMap(({ pointer, component, when = [] }) => {
    if (!when.every((one) => same(readAt(input, one.pointer), one.equals))) return [];
    const named = readAt(input, pointer);
    const ids = Array.isArray(named) ? named : [named];
    return ids
      .filter((id): id is string => typeof id === "string" && id !== "")
      .map((allocationId) => ({ component, allocationId, pointer }));
  });
}

/** The allocations an input names, each once. */
export function allocationsOf(operation: OperationSpec, input: JsonObject): string[] {
  return [...new Set(seatsOf(operation, input).map(({ allocationId }) => allocationId))];
}

/** Whether members of two components may sit on one allocation. */
export function mayShare(manifest: Manifest, one: string, other: string): boolean {
  const shares = (key: string, wanted: string) =>
    manifest.components
      .find((component) => component.key === key)
      ?.may_share_with?.includes(wanted) ?? false;
  return shares(one, other) || shares(other, one);
}

/** The title of a component, or its key where the manifest has lost it. */
export function componentTitle(manifest: Manifest | null | undefined, key: string): string {
  return manifest?.components.find((component) => component.key === key)?.title ?? key;
}

export function topologyTitle(manifest: Manifest | null | undefined, key: string): string {
  return manifest?.topologies.find((topology) => topology.key === key)?.title ?? key;
}

/** The topology that so many allocations make; null where the manifest names none. */
export function topologyFor(manifest: Manifest, allocations: number) {
  return (
    manifest.topologies.find(
      ({ min_allocations = 1, max_allocations }) =>
        allocations >= min_allocations &&
        (max_allocations === null ||
          max_allocations === undefined ||
          allocations <= max_allocations),
    ) ?? null
  );
}
