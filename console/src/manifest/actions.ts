/** Which of an app's actions can be asked for now, and why the others cannot. Pure: the manifest says what
 * there is and where it is valid, the platform which of it is available. */

import type { Action, AppInstance, Manifest, Member, OperationSpec } from "../api/contract.ts";
import type { Can } from "../app/access.ts";
import { componentTitle, topologyTitle } from "./placement.ts";

export interface Offered {
  readonly action: Action;
  readonly spec: OperationSpec;
  readonly available: boolean;
  readonly reason: string;
}

interface Scene {
  readonly manifest: Manifest;
  readonly instance: AppInstance;
  readonly can: Can;
}

/** What can be asked of the instance as a whole. */
export function instanceActions(scene: Scene): Offered[] {
  const named = (scene.manifest.actions ?? []).filter(({ place }) => place === "instance");
  return offered(scene, [...named, ...unnamed(scene.manifest, named)]);
}

/** What can be asked of these members together. */
export function memberActions(scene: Scene, members: readonly Member[]): Offered[] {
  const named = (scene.manifest.actions ?? []).filter(
    ({ place }) => place === "member" || place === "members",
  );
  return offered(scene, named).map((one) => {
    const reason = one.available ? memberReason(one, scene, members) : one.reason;
    return { ...one, available: reason === "", reason };
  });
}

/** Taking an instance down and bringing it back in order are always there, named in the manifest or not. */
function unnamed(manifest: Manifest, named: readonly Action[]): Action[] {
  return manifest.operations
    .filter(({ purpose }) => purpose === "delete" || purpose === "reconcile")
    .filter(({ kind }) => !named.some(({ operation }) => operation === kind))
    .map(({ kind, title }) => ({
      operation: kind,
      place: "instance",
      label: title,
      primary: false,
    }));
}

function offered({ manifest, instance, can }: Scene, actions: readonly Action[]): Offered[] {
  return actions.flatMap((action) => {
    const spec = manifest.operations.find(({ kind }) => kind === action.operation);
    if (spec === undefined || !mayAsk(spec, instance, can)) return [];
    const known = instance.operations.find(({ kind }) => kind === spec.kind);
    return [{ action, spec, available: known?.available ?? false, reason: known?.reason ?? "" }];
  });
}

function mayAsk(spec: OperationSpec, { org_id, project_id }: AppInstance, can: Can): boolean {
  const own = spec.purpose === "delete" ? "apps.instance.delete" : "apps.operation.create";
  const place = { org_id, project_id };
  return can(own, place) && (spec.permissions ?? []).every((key) => can(key, place));
}

function memberReason(
  { spec, action }: Offered,
  { manifest, instance }: Scene,
  members: readonly Member[],
): string {
  const { member_states = [], components = [], topologies = [] } = spec.valid_in ?? {};
  if (members.length === 0) return "Choose members first.";
  if (spec.target === "member" && members.length > 1) return "Only for one member at a time.";
  if (topologies.length > 0 && !topologies.includes(instance.topology)) {
    const titles = topologies.map((key) => topologyTitle(manifest, key)).join(" or ");
    return `Only with: ${titles}.`;
  }
  const most = spec.group?.max_members ?? 100;
  if (members.length > most) return `At most ${most} at a time.`;
  const wrong = members.find(
    ({ component_key, status }) =>
      (components.length > 0 && !components.includes(component_key)) ||
      (member_states.length > 0 && !member_states.includes(status)) ||
      status === "removed",
  );
  return wrong === undefined ? "" : `${action.label} is not for ${what(wrong, manifest)}.`;
}

function what({ component_key, status }: Member, manifest: Manifest): string {
  return `“${componentTitle(manifest, component_key)}” that is ${status.replaceAll("_", " ")}`;
}
