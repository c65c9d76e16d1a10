/** What is being done with an instance, and, apart from it, what has been done. */

import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import type { Manifest, Member, Operation } from "../../api/contract.ts";
import { type Machine, machineName } from "../../forms/use-offers.ts";
import { componentTitle } from "../../manifest/placement.ts";
import { Elapsed } from "../../widgets/moment.tsx";
import { machineOf } from "../../widgets/operation-machine.ts";
import { OperationSteps } from "../../widgets/operation-steps.tsx";
import { OperationTable } from "../../widgets/operation-table.tsx";
import { Status } from "../../widgets/status.tsx";
import { sentence } from "../../widgets/words.ts";
import type { InstanceTabProps } from "./view.ts";

const MOST = 6;

interface UnderWayProps {
  readonly operations: readonly Operation[];
  readonly manifest: Manifest | null;
  readonly members: readonly Member[];
  readonly machines: readonly Machine[];
}

/** Live, step by step. Many at once are shown in short: each has its page. */
export function UnderWay({ operations, manifest, members, machines }: UnderWayProps) {
  if (operations.length === 0) return null;
  return (
    <SpaceBetween size="s">
      {operations.slice(0, MOST).map((operation) => (
        <Current
          key={operation.id}
          operation={operation}
          manifest={manifest}
          member={members.find(({ id }) => id === operation.member_id) ?? null}
          machines={machines}
        />
      ))}
      {operations.length > MOST && (
        <Box color="text-body-secondary">
          {operations.length - MOST} more are under way; the history lists all of them.
        </Box>
      )}
    </SpaceBetween>
  );
}

interface CurrentProps {
  readonly operation: Operation;
  readonly manifest: Manifest | null;
  readonly member: Member | null;
  readonly machines: readonly Machine[];
}

function Current({ operation, manifest, member, machines }: CurrentProps) {
  const spec = manifest?.operations.find(({ kind }) => kind === operation.kind) ?? null;
  const on =
    member === null
      ? ""
      : ` – ${componentTitle(manifest, member.component_key)} on ${member.node || machineName(machines, member.allocation_id)}`;
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={<Status word={operation.status} work />}
          description={
            <>
              <Elapsed from={operation.requested_at} to={operation.ended_at} /> since it was asked
              for, attempt {Math.max(1, operation.attempt)} of {operation.max_attempts}.{" "}
              <Link href={`/operations/${operation.id}`}>Everything about it</Link>
            </>
          }
        >
          {`${spec?.title ?? sentence(operation.kind)}${on}`}
        </Header>
      }
    >
      <OperationSteps operation={operation} spec={spec} />
    </Container>
  );
}

export function HistoryTab(view: InstanceTabProps) {
  const { operations, manifest, members, machines, reading } = view;
  const read = reading ? null : members;
  return (
    <OperationTable
      list={operations}
      manifest={manifest}
      onMachine={(operation) => machineOf(operation, read, machines)}
    />
  );
}
