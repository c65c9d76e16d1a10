/** The members of an instance, one or many to act on at once; those that are no more when asked for. */

import Box from "@cloudscape-design/components/box";
import Toggle from "@cloudscape-design/components/toggle";
import { useState } from "react";
import type { Manifest, Member } from "../../api/contract.ts";
import { useQuery } from "../../app/router.tsx";
import { machineName } from "../../forms/use-offers.ts";
import { wholeList } from "../../live/use-list.ts";
import { componentTitle } from "../../manifest/placement.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { MEMBER_STATE } from "../../widgets/member-columns.tsx";
import { Moment } from "../../widgets/moment.tsx";
import { findable } from "../../widgets/named.tsx";
import { Prose } from "../../widgets/prose.tsx";
import { Thing } from "../../widgets/thing.tsx";
import { MemberActions } from "./actions.tsx";
import { useRemovedMembers } from "./read.ts";
import type { InstanceTabProps } from "./view.ts";

export function MembersTab(view: InstanceTabProps) {
  const { instance, members, membersKnown, manifest, machines, reading, onAsk } = view;
  const [chosenIds, setChosenIds] = useState<readonly string[]>([]);
  const [removed, setRemoved] = useQuery("removed");
  const nameOf = (id: string) => machineName(machines, id);
  const gone = useRemovedMembers(instance.id, removed === "1");
  const shown = allOf(members, gone.items ?? []);
  const chosen = shown.filter(({ id }) => chosenIds.includes(id));
  return (
    <DataTable
      name="members"
      title="Members"
      list={{
        ...(removed === "1" ? gone : wholeList(shown)),
        items: membersKnown ? shown : null,
        loading: reading && !membersKnown,
      }}
      idOf={({ id }) => id}
      columns={columns(manifest, nameOf)}
      sortedBy="machine"
      selecting={{
        chosen,
        onChange: (items) => setChosenIds(items.map(({ id }) => id)),
        disabled: ({ status }) => status === "removed",
        label: ({ component_key, allocation_id }) =>
          `${componentTitle(manifest, component_key)} on ${nameOf(allocation_id)}`,
      }}
      actions={
        manifest !== null && (
          <MemberActions instance={instance} manifest={manifest} chosen={chosen} onAsk={onAsk} />
        )
      }
      filters={
        <Toggle
          checked={removed === "1"}
          onChange={({ detail }) => setRemoved(detail.checked ? "1" : "")}
        >
          Removed ones too
        </Toggle>
      }
      empty={<Empty title="No member yet">Members appear when the deploy has placed them.</Empty>}
    />
  );
}

/** One that goes just now is read as both. */
function allOf(there: readonly Member[], gone: readonly Member[]): readonly Member[] {
  const ids = new Set(gone.map(({ id }) => id));
  return [...there.filter(({ id }) => !ids.has(id)), ...gone];
}

function columns(
  manifest: Manifest | null,
  nameOf: (allocationId: string) => string,
): readonly Column<Member>[] {
  const machine = ({ allocation_id }: Member) => nameOf(allocation_id);
  // A machine that was given back is not among those the project holds.
  const known = (member: Member) => machine(member) !== member.allocation_id;
  return [
    {
      id: "component",
      header: "Component",
      cell: ({ component_key }) => componentTitle(manifest, component_key),
      value: ({ component_key }) => componentTitle(manifest, component_key),
      rowHeader: true,
    },
    {
      id: "machine",
      header: "Machine",
      cell: (member) => (
        <>
          <Thing id={member.allocation_id}>{known(member) ? machine(member) : undefined}</Thing>
          {member.node && member.node !== machine(member) && (
            <Box color="text-body-secondary">{member.node}</Box>
          )}
        </>
      ),
      value: (member) => {
        const { allocation_id, node } = member;
        return `${known(member) ? machine(member) : findable(allocation_id)} ${node}`;
      },
    },
    ...MEMBER_STATE,
    {
      id: "says",
      header: "What the app says",
      cell: ({ adapter_detail, conditions }) => {
        const said = [
          adapter_detail?.summary,
          ...conditions.map(({ message, reason }) => message || reason),
        ].filter(Boolean);
        return said.length === 0 ? null : <Prose>{said.join(" ")}</Prose>;
      },
      value: ({ adapter_detail }) => adapter_detail?.summary,
    },
    {
      id: "operation",
      header: "Last operation",
      minWidth: 100,
      cell: ({ last_operation_id }) => last_operation_id && <Thing id={last_operation_id} />,
      value: ({ last_operation_id }) => last_operation_id && findable(last_operation_id),
    },
    {
      id: "since",
      header: "Changed",
      minWidth: 100,
      cell: ({ updated_at }) => <Moment at={updated_at} />,
      value: ({ updated_at }) => updated_at,
    },
  ];
}
