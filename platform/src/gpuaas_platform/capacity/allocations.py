"""Rules of allocations: placed by SKU, region, policy and free nodes; bound to one instance.

The apps room binds and frees allocations through here, in its own transactions.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gpuaas_contract.capacity import CLEANING_MEANING, Allocation, AllocationCreate
from gpuaas_contract.common import API_PREFIX, Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.operate import TimelineEntry, TimelineKind
from gpuaas_contract.permissions import Permission
from gpuaas_contract.policy import Dimension
from gpuaas_contract.states import ALLOCATION, AllocationStatus
from gpuaas_platform.capacity.cleaning import node_given_back, node_recreated
from gpuaas_platform.capacity.holdings import present
from gpuaas_platform.capacity.nodes import AGENT_LEFT, node_condition_put, node_topic
from gpuaas_platform.capacity.orders import OrderKind, order_put
from gpuaas_platform.capacity.providers import ENROLLED
from gpuaas_platform.capacity.service import kinds_require, name_taken
from gpuaas_platform.capacity.store import holdings
from gpuaas_platform.capacity.store import machines as store
from gpuaas_platform.capacity.trust import trust_touch
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.correlation import Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work
from gpuaas_platform.policy import service as policy

Users = Callable[[Connection, str, str], Awaitable[list[str]]]
USERS_PART: Final = "capacity.users"
"""Where the room above says which live members of an instance use an allocation."""


@dataclass(frozen=True)
class AllocationRecord:
    """What another room may know of an allocation."""

    id: str
    name: str
    place: Place
    sku: str
    region: str
    status: AllocationStatus
    bound_instance_id: str | None


async def allocation_create(
    work: Work, project_id: str, body: AllocationCreate
) -> Answer[Allocation]:
    """Give a project a free machine of the wanted kind."""
    place = await project_place(work.conn, project_id)
    work.require(Permission.ALLOCATION_CREATE, place)
    if body.node_id is not None:
        work.require(Permission.NODE_MANAGE, PLATFORM)
    await kinds_require(work.conn, body.region, body.sku)
    await policy.require(work.conn, place, Dimension.REGIONS, body.region)
    await policy.require(work.conn, place, Dimension.SKUS, body.sku)
    await _quota_require(work.conn, place, body.sku)
    allocation_id = work.new_id(Prefix.ALLOCATION)
    node_id = await _placed(work, place, body, allocation_id)
    new = store.NewAllocation(
        allocation_id, place, body, node_id, work.call.correlation_id, work.now
    )
    if not await store.allocation_insert(work.conn, new):
        raise name_taken("allocation", body.name)
    if node_id is None:
        await order_put(work, allocation_id, OrderKind.MAKE)
    else:
        work.signal(node_topic(node_id))
    allocation = await _read(work.conn, allocation_id)
    work.audit(Target("allocation", allocation_id, place, after=allocation))
    _emit(work, allocation, allocation.status)
    return Answer(allocation, 201)


async def _placed(
    work: Work, place: Place, body: AllocationCreate, allocation_id: str
) -> str | None:
    """A free node of the wanted kind, or None where machines are made to order."""
    if await store.region_provider(work.conn, body.region) != ENROLLED:
        if body.node_id is not None:
            raise invalid("/node_id", "cannot be chosen where machines are made to order")
        return None
    wanted = holdings.Wanted(allocation_id, present(place.org_id), body)
    node_id = await holdings.node_take(work.conn, wanted)
    if node_id is None:
        row = await holdings.region_read(work.conn, body.region)
        raise PlatformError(
            ErrorCode.NO_CAPACITY,
            f"No free machine of kind {body.sku} in {body.region}."
            f" {CLEANING_MEANING[present(row)['cleaning']]}",
            retry_after=30,
        )
    return node_id


async def allocation_release(work: Work, allocation_id: str) -> Answer[Allocation]:
    """Give a machine back. Refused while an instance uses it."""
    rows = await store.allocation_lock_many(work.conn, [allocation_id])
    if not rows:
        raise not_found("allocation", allocation_id)
    before = _allocation(rows[0])
    place = Place(before.org_id, before.project_id)
    work.require(Permission.ALLOCATION_RELEASE, place)
    if before.bound_instance_id is not None:
        raise await _in_use(work, before.id, before.bound_instance_id)
    if not ALLOCATION.allows(before.status, AllocationStatus.RELEASING):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"An allocation that is {before.status} cannot be released.",
            context={"status": before.status},
        )
    if await store.region_provider(work.conn, before.region) == ENROLLED:
        await store.allocation_set_status(work.conn, [allocation_id], AllocationStatus.RELEASED)
        node_id = rows[0]["node_id"]
        await node_given_back(work, node_id)
        if before.conditions:
            await node_condition_put(work, node_id, AGENT_LEFT, None)
        work.signal(node_topic(node_id))
    else:
        await store.allocation_set_status(work.conn, [allocation_id], AllocationStatus.RELEASING)
        await order_put(work, allocation_id, OrderKind.UNMAKE)
        await trust_touch(work, allocation_id)  # closed at once, however long the rest takes
        if rows[0]["node_id"] is not None:
            await node_recreated(work, rows[0]["node_id"])
    allocation = await _read(work.conn, allocation_id)
    work.audit(Target("allocation", allocation_id, place, before=before, after=allocation))
    _emit(work, allocation, allocation.status)
    return Answer(allocation)


async def _in_use(work: Work, allocation_id: str, instance_id: str) -> PlatformError:
    """Who has to be removed before the machine can be given back."""
    users: Users | None = work.call.platform.parts.get(USERS_PART)
    members = [] if users is None else await users(work.conn, instance_id, allocation_id)
    named = f"the member {', '.join(members)} of " if members else ""
    return PlatformError(
        ErrorCode.IN_USE,
        f"The allocation is used by {named}the instance {instance_id}; remove its member or"
        " decommission the instance first.",
        context={"app_instance_id": instance_id, "member_ids": ",".join(members)},
    )


async def allocation_read(call: Call, allocation_id: str) -> Allocation:
    """One allocation."""
    async with call.db.connection() as conn:
        allocation = await _read(conn, allocation_id)
    call.caller.require(Permission.ALLOCATION_READ, Place(allocation.org_id, allocation.project_id))
    return allocation


async def allocation_find(conn: Connection, allocation_id: str) -> Allocation:
    """One allocation for a room above, which authorises at its place before showing anything."""
    return await _read(conn, allocation_id)


async def allocation_find_many(conn: Connection, ids: Sequence[str]) -> list[Allocation]:
    """Several allocations for a room above, as they were named; all of them are there."""
    rows = {row["id"]: row for row in await store.allocation_read_many(conn, ids)}
    for allocation_id in ids:
        if allocation_id not in rows:
            raise not_found("allocation", allocation_id)
    return [_allocation(rows[allocation_id]) for allocation_id in ids]


async def allocations_in(conn: Connection, status: AllocationStatus) -> list[Allocation]:
    """Every allocation in a state. For a sweep of a room above, which shows none of it."""
    return [_allocation(row) for row in await store.allocations_in(conn, status)]


@dataclass(frozen=True)
class AllocationQuery:
    """What a list of allocations was asked for."""

    project_id: str | None
    status: Sequence[AllocationStatus]
    cursor: str | None
    limit: int


async def allocation_list(call: Call, query: AllocationQuery) -> Page[Allocation]:
    """Allocations in reach, newest first."""
    wanted = store.AllocationFilter(
        call.caller.reach(Permission.ALLOCATION_READ), query.project_id, query.status
    )
    async with call.db.connection() as conn:
        if query.project_id is not None:
            place = await project_place(conn, query.project_id)
            call.caller.require(Permission.ALLOCATION_READ, place)
        after = cursor_decode(query.cursor)
        rows = await store.allocation_list(conn, wanted, after, query.limit + 1)
    return page_of([_allocation(row) for row in rows], query.limit, lambda found: found.id)


async def allocations_bind(
    work: Work, place: Place, allocation_ids: Sequence[str], instance_id: str
) -> list[AllocationRecord]:
    """Take allocations of this project for an instance; all or none."""
    records = await _locked(work.conn, allocation_ids)
    for wanted in allocation_ids:
        record = records.get(wanted)
        if record is None or record.place != place:
            raise not_found("allocation", wanted)
        _bindable(record, instance_id)
        await policy.require(work.conn, place, Dimension.REGIONS, record.region)
        await policy.require(work.conn, place, Dimension.SKUS, record.sku)
    await store.allocation_bind(work.conn, allocation_ids, instance_id)
    return [records[wanted] for wanted in allocation_ids]


async def allocations_unbind(work: Work, allocation_ids: Sequence[str]) -> None:
    """Free allocations: nothing of the instance is left on them, and that was verified."""
    records = await _locked(work.conn, allocation_ids)
    blocked = [r for r in records.values() if r.status is AllocationStatus.CLEANUP_BLOCKED]
    await store.allocation_bind(work.conn, allocation_ids, None)
    if blocked:
        ids = [record.id for record in blocked]
        await store.allocation_set_status(work.conn, ids, AllocationStatus.ACTIVE)
    for record in blocked:
        data = {"allocation_id": record.id, "name": record.name, "sku": record.sku}
        work.emit(Happened("capacity.allocation.active", record.id, record.place, data))


async def allocations_block(work: Work, allocation_ids: Sequence[str], reason: str) -> None:
    """Keep allocations aside: what is left on the machines could not be verified."""
    records = await _locked(work.conn, allocation_ids)
    active = [r for r in records.values() if r.status is AllocationStatus.ACTIVE]
    await store.allocation_set_status(
        work.conn, [r.id for r in active], AllocationStatus.CLEANUP_BLOCKED, reason
    )
    for record in active:
        data = {"allocation_id": record.id, "reason": reason}
        work.emit(Happened("capacity.allocation.cleanup_blocked", record.id, record.place, data))


def _bindable(record: AllocationRecord, instance_id: str) -> None:
    if record.status is not AllocationStatus.ACTIVE:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The allocation {record.name} is {record.status}; only an active one can be used.",
            context={"allocation_id": record.id, "status": record.status},
        )
    if record.bound_instance_id not in {None, instance_id}:
        raise PlatformError(
            ErrorCode.IN_USE,
            f"The allocation {record.name} is used by the instance {record.bound_instance_id}.",
            context={
                "allocation_id": record.id,
                "app_instance_id": record.bound_instance_id or "",
            },
        )


async def _locked(conn: Connection, ids: Iterable[str]) -> dict[str, AllocationRecord]:
    rows = await store.allocation_lock_many(conn, list(ids))
    return {
        row["id"]: AllocationRecord(
            row["id"],
            row["name"],
            Place(row["org_id"], row["project_id"]),
            row["sku"],
            row["region"],
            AllocationStatus(row["status"]),
            row["bound_instance_id"],
        )
        for row in rows
    }


async def _quota_require(conn: Connection, place: Place, sku: str) -> None:
    """Every quota that holds here has room for one more."""
    await store.quota_lock(conn, place)
    for quota in await store.quota_list(conn, place):
        if quota["sku"] in {"*", sku} and quota["used"] >= quota["limit"]:
            whose = "project's" if quota["project_id"] else "tenant's"
            what = "allocations" if quota["sku"] == "*" else f"allocations of {sku}"
            raise PlatformError(
                ErrorCode.QUOTA_EXCEEDED,
                f"The {whose} quota of {quota['limit']} {what} is used up.",
                context={"sku": quota["sku"], "limit": str(quota["limit"])},
            )


async def _read(conn: Connection, allocation_id: str) -> Allocation:
    row = await store.allocation_read(conn, allocation_id)
    if row is None:
        raise not_found("allocation", allocation_id)
    return _allocation(row)


def _allocation(row: Record) -> Allocation:
    return Allocation(**dict(row))


def _emit(work: Work, allocation: Allocation, status: AllocationStatus) -> None:
    place = Place(allocation.org_id, allocation.project_id)
    data = {"allocation_id": allocation.id, "name": allocation.name, "sku": allocation.sku}
    work.emit(Happened(f"capacity.allocation.{status}", allocation.id, place, data))


async def correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Entries of a timeline: allocations made under a correlation id."""
    return [_correlated(row) for row in await store.allocations_correlated(conn, query)]


def _correlated(row: Record) -> Correlated:
    entry = TimelineEntry(
        at=row["created_at"],
        kind=TimelineKind.ALLOCATION,
        id=row["id"],
        title=f"Allocation {row['name']} ({row['sku']} in {row['region']}): {row['status']}.",
        status=row["status"],
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        links={"allocation": f"{API_PREFIX}/allocations/{row['id']}"},
        detail={
            "reason": row["status_reason"],
            "app_instance_id": row["bound_instance_id"],
        },
    )
    return Correlated(row["tl_key"], entry)
