"""Orders: what a provider still has to make or unmake, and what becomes of it.

Called by `allocations.py`, which places orders, and by `workshop.py`, which works on them. Every
word about an order is guarded by the token of whoever works on it: who lost it changes nothing.
"""

from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from gpuaas_contract.capacity import Allocation, NodeCreate
from gpuaas_contract.ids import Prefix
from gpuaas_contract.states import AllocationStatus
from gpuaas_platform.capacity.holdings import CLEANING_TOPIC
from gpuaas_platform.capacity.store import machines as store
from gpuaas_platform.capacity.store import orders as rows
from gpuaas_platform.capacity.trust import trust_begin
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work

TOPIC: Final = "capacity.orders"
ATTEMPTS: Final = 5
_FIRST_DELAY: Final = 2.0
_LONGEST_DELAY: Final = 60.0
_REASON_LONGEST: Final = 1000


class OrderKind(StrEnum):
    """What is to be done."""

    MAKE = "make"
    UNMAKE = "unmake"


async def order_put(work: Work, allocation_id: str, kind: OrderKind) -> None:
    """Have a machine made or unmade, in the transaction of whoever wants it."""
    await rows.order_put(work.conn, allocation_id, kind, work.now)
    work.signal(TOPIC)


async def order_begin(work: Work, order: Record) -> Answer[Allocation]:
    """A machine is being made from now on."""
    before = await _held(work, order)
    if before.status is AllocationStatus.PROVISIONING:
        raise Undone  # begun before a crash, or by an attempt that failed
    return await _told(work, before, AllocationStatus.PROVISIONING, "")


async def order_made(
    work: Work, order: Record, made: NodeCreate, trusts: str
) -> Answer[Allocation]:
    """The machine is there: it becomes a node, and the allocation active.

    `trusts` is what its provider made its sshd trust, in short; empty when that is not known.
    """
    before = await _held(work, order)
    node_id = work.new_id(Prefix.NODE)
    node = await store.node_insert(work.conn, node_id, made, order["provider"], work.now)
    if node is None:
        raise RuntimeError(f"a node {made.name} is there already")
    await store.allocation_settle(work.conn, before.id, node_id)
    await trust_begin(work, node_id, trusts)
    await rows.order_end(work.conn, before.id)
    return await _told(work, before, AllocationStatus.ACTIVE, "")


async def order_unmade(work: Work, order: Record) -> Answer[Allocation]:
    """Nothing of the machine is left."""
    before = await _held(work, order)
    await store.node_forget(work.conn, before.id, "Its machine was taken away.")
    await rows.order_end(work.conn, before.id)
    work.signal(CLEANING_TOPIC)
    return await _told(work, before, AllocationStatus.RELEASED, "")


async def order_failed(work: Work, order: Record, error: str, *, final: bool) -> Answer[Allocation]:
    """An attempt failed: it is tried again, or given up where everybody sees it."""
    before = await _held(work, order)
    attempt = order["attempt"]
    if final or attempt >= ATTEMPTS:
        await rows.order_end(work.conn, before.id)
        work.signal(CLEANING_TOPIC)
        making = order["kind"] == OrderKind.MAKE
        status = AllocationStatus.FAILED if making else AllocationStatus.CLEANUP_BLOCKED
        return await _told(work, before, status, error)
    delay = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0 ** (attempt - 1))
    due = work.now + timedelta(seconds=delay)
    await rows.order_let_go(work.conn, before.id, order["token"], due)
    reason = f"Attempt {attempt} of {ATTEMPTS} failed, the next comes in {delay:g} s: {error}"
    return await _told(work, before, before.status, reason)


async def _held(work: Work, order: Record) -> Allocation:
    """The allocation of an order that is still ours and still wants the same."""
    found = await store.allocation_lock_many(work.conn, [order["allocation_id"]])
    mine = await rows.order_lock(work.conn, order["allocation_id"], order["token"])
    if not found or mine is None or mine["kind"] != order["kind"]:
        raise Undone
    return Allocation(**dict(found[0]))


async def _told(
    work: Work, before: Allocation, status: AllocationStatus, reason: str
) -> Answer[Allocation]:
    await store.allocation_set_status(work.conn, [before.id], status, reason[:_REASON_LONGEST])
    row = await store.allocation_read(work.conn, before.id)
    after = before if row is None else Allocation(**dict(row))
    place = Place(after.org_id, after.project_id)
    work.audit(Target("allocation", after.id, place, before=before, after=after, reason=reason))
    if status is not before.status:
        data: dict[str, Any] = {"allocation_id": after.id, "name": after.name, "sku": after.sku}
        data |= {"reason": reason} if reason else {}
        work.emit(Happened(f"capacity.allocation.{status}", after.id, place, data))
    return Answer(after)
