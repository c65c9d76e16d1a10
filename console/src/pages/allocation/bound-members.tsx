/** The members of an instance that sit on an allocation. */

import Link from "@cloudscape-design/components/link";
import type { Member } from "../../api/contract.ts";
import { type LiveList, wholeList } from "../../live/use-list.ts";
import { useLive } from "../../live/use-live.ts";
import { type Column, DataTable } from "../../widgets/data-table.tsx";
import { Empty } from "../../widgets/empty.tsx";
import { membersOf } from "../../widgets/instance-reads.ts";
import { MEMBER_STATE } from "../../widgets/member-columns.tsx";
import { sentence } from "../../widgets/words.ts";

/** Nothing is read of an allocation that is free. */
export function useBoundMembers(instanceId: string | null, allocationId: string): LiveList<Member> {
  const { value, ...live } = useLive(...membersOf(instanceId));
  const items = value?.filter(({ allocation_id }) => allocation_id === allocationId) ?? null;
  return { ...wholeList(items), ...live };
}

export function BoundMembers({ list }: { readonly list: LiveList<Member> }) {
  return (
    <DataTable
      name="members"
      title="What sits on it"
      list={list}
      idOf={({ id }) => id}
      columns={COLUMNS}
      sortedBy="component"
      empty={<Empty title="Nothing sits on it" />}
    />
  );
}

const COLUMNS: readonly Column<Member>[] = [
  {
    id: "component",
    header: "Component",
    cell: ({ component_key, instance_id }) => (
      <Link href={`/instances/${instance_id}?tab=members`}>{sentence(component_key)}</Link>
    ),
    value: ({ component_key }) => component_key,
    rowHeader: true,
  },
  ...MEMBER_STATE,
  {
    id: "version",
    header: "Version",
    cell: ({ runtime_version }) => runtime_version || null,
    value: ({ runtime_version }) => runtime_version,
  },
];
