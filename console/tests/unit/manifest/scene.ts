/** A manifest and what belongs to it, for tests of what is made from them. */

import type { AppInstance, Manifest, Member } from "../../../src/api/contract.ts";

export const MANIFEST = {
  components: [
    { key: "head", title: "Head", min_members: 1 },
    { key: "hand", title: "Hand", may_share_with: ["head"] },
    { key: "eye", title: "Eye" },
  ],
  topologies: [
    { key: "one", title: "One machine", min_allocations: 1, max_allocations: 1 },
    { key: "many", title: "Many machines", min_allocations: 2 },
  ],
  operations: [
    {
      kind: "begin",
      title: "Begin",
      purpose: "deploy",
      target: "instance",
      placement: [
        { pointer: "/head", component: "head" },
        {
          pointer: "/head",
          component: "hand",
          when: [{ pointer: "/placement", equals: "same" }],
        },
        {
          pointer: "/hands",
          component: "hand",
          when: [{ pointer: "/placement", equals: "apart" }],
        },
      ],
    },
    {
      kind: "rest_hand",
      title: "Rest hands",
      purpose: "member_drain",
      target: "group",
      group: { max_members: 2 },
      valid_in: { member_states: ["ready"], components: ["hand"], topologies: ["many"] },
      permissions: ["scheduler.node.operate"],
    },
    { kind: "end", title: "End", purpose: "delete", target: "instance", destructive: true },
  ],
  actions: [{ operation: "rest_hand", place: "members", label: "Rest" }],
  lifecycle: { delete: { destroys: "Everything.", verifies_absence: true } },
} as unknown as Manifest;

export const INSTANCE = {
  id: "inst_1",
  org_id: "org_1",
  project_id: "proj_1",
  topology: "many",
  operations: [
    {
      kind: "rest_hand",
      title: "Rest hands",
      purpose: "member_drain",
      available: true,
      reason: "",
    },
    { kind: "end", title: "End", purpose: "delete", available: false, reason: "It ends already." },
  ],
} as unknown as AppInstance;

export function member(component: string, status: string): Member {
  return { id: `${component}:${status}`, component_key: component, status } as unknown as Member;
}
