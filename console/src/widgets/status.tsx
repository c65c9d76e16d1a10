/** States, health and conditions as people see them: one colour and one word each. */

import StatusIndicator, {
  type StatusIndicatorProps,
} from "@cloudscape-design/components/status-indicator";
import type { Condition, Schemas } from "../api/contract.ts";
import { sentence } from "./words.ts";

type Kind = StatusIndicatorProps.Type;

const KINDS: Readonly<Record<string, Kind>> = {
  accepted: "in-progress",
  active: "success",
  abandoned: "stopped",
  agent_absent: "warning",
  agent_left: "warning",
  cancelled: "stopped",
  checking: "in-progress",
  cleaning: "in-progress",
  cleanup_blocked: "error",
  cleanup_unverified: "warning",
  closing: "in-progress",
  controller_absent: "warning",
  cordoned: "stopped",
  deleted: "stopped",
  deleting: "in-progress",
  dead: "error",
  delivered: "success",
  denied: "error",
  deploying: "in-progress",
  deprecated: "warning",
  degraded: "warning",
  disabled: "stopped",
  draft: "pending",
  drained: "stopped",
  draining: "in-progress",
  enrolled: "success",
  enrolling: "in-progress",
  error: "error",
  expired: "stopped",
  failed: "error",
  failed_verification: "error",
  failing: "warning",
  healthy: "success",
  identity_shared: "error",
  info: "info",
  ingesting: "in-progress",
  intended: "pending",
  in_progress: "in-progress",
  inactive: "stopped",
  leaving: "in-progress",
  left: "stopped",
  allowed: "success",
  needs_domain: "pending",
  operation_abandoned: "warning",
  operation_failed: "error",
  partly_failed: "warning",
  pending: "pending",
  progressing: "in-progress",
  promoted: "success",
  provisioning: "in-progress",
  published: "success",
  ready: "success",
  reconciling: "in-progress",
  redelivering: "in-progress",
  released: "stopped",
  releasing: "in-progress",
  removed: "stopped",
  removing: "in-progress",
  requested: "pending",
  retired: "stopped",
  revoked: "stopped",
  rolling_back: "in-progress",
  running: "success",
  set_aside: "error",
  settings_pending: "pending",
  skipped: "stopped",
  starting: "in-progress",
  stopped: "stopped",
  stopping: "in-progress",
  stuck: "warning",
  succeeded: "success",
  undone: "stopped",
  unknown: "pending",
  unreachable: "warning",
  unverified: "pending",
  upgrading: "in-progress",
  verified: "success",
  warning: "warning",
  wiping: "in-progress",
  withdrawn: "error",
};

/** A state of anything. An operation or a step that runs is under way; an instance that runs is well. */
export function Status({ word, work = false }: { readonly word: string; readonly work?: boolean }) {
  const kind = work && word === "running" ? "in-progress" : (KINDS[word] ?? "info");
  return <StatusIndicator type={kind}>{sentence(word)}</StatusIndicator>;
}

export function isUnreachable(conditions: readonly Condition[]): boolean {
  return conditions.some(({ type }) => type === "unreachable");
}

interface MemberStatusProps {
  readonly member: Pick<Schemas["Member"], "status" | "health" | "conditions">;
}

/** A member's state, and beside it that it cannot be asked: unreachable is not gone. */
export function MemberStatus({ member }: MemberStatusProps) {
  return (
    <>
      <Status word={member.status} />
      {isUnreachable(member.conditions) && (
        <div>
          <Status word="unreachable" />
        </div>
      )}
    </>
  );
}
