/** How a member is, in a table: the same columns wherever members are listed. */

import type { Member } from "../api/contract.ts";
import type { Column } from "./arrange.ts";
import { MemberStatus, Status } from "./status.tsx";

export const MEMBER_STATE: readonly Column<Member>[] = [
  {
    id: "status",
    header: "Status",
    cell: (member) => <MemberStatus member={member} />,
    value: ({ status }) => status,
  },
  {
    id: "health",
    header: "Health",
    cell: ({ health }) => <Status word={health} />,
    value: ({ health }) => health,
  },
];
