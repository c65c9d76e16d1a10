/** The buttons of an instance: what the app offers here and now; what it does not, with the reason. */

import Button from "@cloudscape-design/components/button";
import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { AppInstance, Manifest, Member, OperationSpec } from "../../api/contract.ts";
import { useCan } from "../../app/access.ts";
import { instanceActions, memberActions, type Offered } from "../../manifest/actions.ts";

/** An operation somebody wants to ask for, and of which members. */
export interface Asking {
  readonly spec: OperationSpec;
  readonly members: readonly Member[];
}

interface ActionsProps {
  readonly instance: AppInstance;
  readonly manifest: Manifest;
  readonly onAsk: (asking: Asking) => void;
}

export function InstanceActions({ instance, manifest, onAsk }: ActionsProps) {
  const offered = instanceActions({ manifest, instance, can: useCan() });
  if (offered.length === 0 || instance.status === "deleted") return null;
  const primary = offered.filter(({ action }) => action.primary);
  const ask = ({ spec }: Offered) => onAsk({ spec, members: [] });
  return (
    <SpaceBetween direction="horizontal" size="xs">
      <Menu label="Actions" offered={offered.filter(({ action }) => !action.primary)} onAsk={ask} />
      {primary.map((one) => (
        <Button
          key={one.spec.kind}
          variant="primary"
          disabled={!one.available}
          disabledReason={one.reason}
          onClick={() => ask(one)}
        >
          {one.action.label}
        </Button>
      ))}
    </SpaceBetween>
  );
}

interface MemberActionsProps extends ActionsProps {
  readonly chosen: readonly Member[];
}

export function MemberActions({ instance, manifest, chosen, onAsk }: MemberActionsProps) {
  const offered = memberActions({ manifest, instance, can: useCan() }, chosen);
  if (offered.length === 0) return null;
  return (
    <SpaceBetween direction="horizontal" size="xs">
      {offered.map((one) => (
        <Button
          key={one.spec.kind}
          disabled={!one.available}
          disabledReason={one.reason}
          onClick={() => onAsk({ spec: one.spec, members: chosen })}
        >
          {one.action.label}
        </Button>
      ))}
    </SpaceBetween>
  );
}

interface MenuProps {
  readonly label: string;
  readonly offered: readonly Offered[];
  readonly onAsk: (offered: Offered) => void;
}

function Menu({ label, offered, onAsk }: MenuProps) {
  if (offered.length === 0) return null;
  return (
    <ButtonDropdown
      items={offered.map(({ spec, action, available, reason }) => ({
        id: spec.kind,
        text: action.label,
        disabled: !available,
        disabledReason: reason,
      }))}
      onItemClick={({ detail }) => {
        const chosen = offered.find(({ spec }) => spec.kind === detail.id);
        if (chosen !== undefined) onAsk(chosen);
      }}
    >
      {label}
    </ButtonDropdown>
  );
}
