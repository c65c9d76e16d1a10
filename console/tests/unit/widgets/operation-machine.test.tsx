import { render, screen } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { Member, Operation } from "../../../src/api/contract.ts";
import { RouterProvider } from "../../../src/app/router.tsx";
import { forgetNames } from "../../../src/live/names.ts";
import { wholeList } from "../../../src/live/use-list.ts";
import { machineOf } from "../../../src/widgets/operation-machine.ts";
import { OperationTable } from "../../../src/widgets/operation-table.tsx";
import { fakePlatform, json } from "../fake-platform.ts";

const GONE = `mem_0${"1".padStart(25, "0")}`;
const MEMBERS = [{ id: "mem_1", allocation_id: "alloc_1", node: "gpu-01" }] as Member[];

function operation(member_id: string | null, new_member_id: string | null = null): Operation {
  return { member_id, new_member_id } as Operation;
}

beforeEach(forgetNames);

describe("the machine of an operation", () => {
  it("is that of its member, and of the one that comes where another goes", () => {
    const found = { allocationId: "alloc_1", name: "gpu-01" };
    expect(machineOf(operation("mem_1"), MEMBERS, [])).toEqual(found);
    expect(machineOf(operation(GONE, "mem_1"), MEMBERS, [])).toEqual(found);
  });

  it("is none for one of the whole, and while members are being read", () => {
    expect(machineOf(operation(null), MEMBERS, [])).toBeNull();
    expect(machineOf(operation("mem_1"), null, [])).toBeNull();
  });

  it("is told by the member's name where that is gone", async () => {
    const platform = fakePlatform();
    const items = [{ id: GONE, name: "hand on gpu-09" }];
    platform.on("GET /api/v1/names", () => json(200, { items }));
    const removal = {
      ...operation(GONE),
      id: "op_1",
      kind: "remove_hand",
      status: "succeeded",
      progress: [],
      requested_at: "2026-03-14T09:30:00Z",
      ended_at: "2026-03-14T09:31:00Z",
      requested_by: "somebody",
    } as unknown as Operation;
    render(
      <RouterProvider>
        <OperationTable
          list={wholeList([removal])}
          onMachine={(one) => machineOf(one, MEMBERS, [])}
        />
      </RouterProvider>,
    );
    expect(await screen.findByText("hand on gpu-09")).toBeDefined();
  });
});
