"""SQL of operations and groups: requested, claimed, reported, read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps.rows import OperationRow, Waiting, operation_of
from gpuaas_platform.apps.store.instances import (
    CLAIMS,
    columns_of,
    insert_sql,
    reach_where,
    update_sql,
    values_of,
)
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.database import Connection, Record

_COLUMNS: Final = columns_of(OperationRow)
_NEW: Final = [name for name in _COLUMNS if name != "position"]
_FIXED: Final = {
    "id", "instance_id", "org_id", "project_id", "app_slug", "kind", "purpose", "exclusive",
    "member_id", "new_member_id", "group_id", "input", "position", "revision", "correlation_id",
    "requested_by", "requested_at",
}  # fmt: skip
_CHANGES: Final = [name for name in _COLUMNS if name not in _FIXED]
_SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM operations"  # noqa: S608 - names of columns, no input
_INSERT: Final = insert_sql("operations", _NEW)
_UPDATE: Final = update_sql("operations", _CHANGES)
_CLAIMABLE: Final = "status = 'requested' AND ready AND not_before <= $1"


async def operation_insert(conn: Connection, row: OperationRow) -> None:
    """Add an operation at the end of the queue."""
    await conn.execute(_INSERT, *values_of(row, _NEW))


async def operation_read(conn: Connection, operation_id: str) -> OperationRow | None:
    """One operation."""
    record = await conn.fetchrow(f"{_SELECT} WHERE id = $1", operation_id)
    return None if record is None else operation_of(record)


async def operation_lock(conn: Connection, operation_id: str) -> OperationRow | None:
    """One operation, held until the transaction ends; its instance is locked before it."""
    record = await conn.fetchrow(f"{_SELECT} WHERE id = $1 FOR UPDATE", operation_id)
    return None if record is None else operation_of(record)


async def operations_read(conn: Connection, ids: Sequence[str]) -> dict[str, OperationRow]:
    """Some operations by id."""
    records = await conn.fetch(f"{_SELECT} WHERE id = ANY($1)", list(ids))
    return {record["id"]: operation_of(record) for record in records}


async def operations_open_lock(conn: Connection, instance_id: str) -> list[OperationRow]:
    """Operations of a locked instance that are not at their end, held too, in queue order."""
    records = await conn.fetch(
        f"{_SELECT} WHERE instance_id = $1 AND status IN ('requested', 'accepted', 'running')"
        " ORDER BY position FOR UPDATE",
        instance_id,
    )
    return [operation_of(record) for record in records]


async def operation_save(conn: Connection, row: OperationRow) -> int:
    """Write an operation that is locked; returns its new revision."""
    return int(await conn.fetchval(_UPDATE, row.id, *values_of(row, _CHANGES)))


async def queue_read(conn: Connection, instance_id: str) -> list[Waiting]:
    """The queue of a locked instance, in order, with what each waits for."""
    records = await conn.fetch(
        "SELECT o.id, o.exclusive, o.member_id, o.new_member_id, o.group_id, o.waits_for,"
        " o.status, o.ready, coalesce(g.parallelism, 1) AS parallelism, w.status AS waited"
        " FROM operations o LEFT JOIN operation_groups g ON g.id = o.group_id"
        " LEFT JOIN operations w ON w.id = o.waits_for"
        " WHERE o.instance_id = $1 AND o.status IN ('requested', 'accepted', 'running')"
        " ORDER BY o.position",
        instance_id,
    )
    return [_waiting(record) for record in records]


async def operations_make_ready(conn: Connection, ids: Sequence[str]) -> None:
    """Let these be claimed."""
    await conn.execute(
        "UPDATE operations SET ready = true, revision = revision + 1"
        " WHERE id = ANY($1) AND status = 'requested' AND NOT ready",
        list(ids),
    )


async def open_count(conn: Connection, instance_id: str) -> int:
    """How many operations of an instance are not at their end."""
    return int(
        await conn.fetchval(
            "SELECT count(*) FROM operations WHERE instance_id = $1"
            " AND status IN ('requested', 'accepted', 'running')",
            instance_id,
        )
    )


async def claims_count(conn: Connection, instance_id: str) -> int:
    """How often the open operations of an instance were claimed, all together."""
    return int(await conn.fetchval(f"SELECT {CLAIMS}", instance_id))


@dataclass(frozen=True)
class ClaimFilter:
    """Which work a controller asks for."""

    reach: Reach
    app_slug: str
    project_id: str | None
    instance_id: str | None


async def claimable_lock(
    conn: Connection, wanted: ClaimFilter, now: datetime, limit: int
) -> list[OperationRow]:
    """Claimable operations nobody else is claiming at this moment, oldest first, held."""
    where, args = _claim_where(wanted, now)
    sql = (
        f"{_SELECT} WHERE {where} ORDER BY not_before, id LIMIT ${len(args) + 1}"
        " FOR UPDATE SKIP LOCKED"
    )
    return [operation_of(record) for record in await conn.fetch(sql, *args, limit)]


async def claim_peek(
    conn: Connection, wanted: ClaimFilter, now: datetime
) -> tuple[bool, datetime | None]:
    """Whether there is something to claim, and when there may be: a delay or a lease ends."""
    where, args = _claim_where(wanted, now)
    found = await conn.fetchval(f"SELECT EXISTS (SELECT 1 FROM operations WHERE {where})", *args)  # noqa: S608 - conditions of this module
    if found:
        return True, None
    later = where.replace("not_before <= $1", "not_before > $1")
    soonest = await conn.fetchval(
        "SELECT min(at) FROM ("  # noqa: S608 - conditions of this module
        f"(SELECT not_before AS at FROM operations WHERE {later} ORDER BY not_before, id LIMIT 1)"
        " UNION ALL (SELECT lease_until FROM operations WHERE status IN ('accepted', 'running')"
        " AND lease_until > $1 ORDER BY lease_until LIMIT 1)) AS due",
        *args,
    )
    return False, soonest


async def operations_claimed(conn: Connection, rows: Sequence[OperationRow]) -> None:
    """Write the leases of locked operations in one statement."""
    await conn.execute(
        "UPDATE operations o SET status = 'accepted', ready = false, lease_holder = n.holder,"
        " lease_replica = n.replica, lease_token_hash = n.token_hash, lease_until = n.until,"
        " fence = n.fence, revision = o.revision + 1"
        " FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::timestamptz[],"
        " $6::int[]) AS n (id, holder, replica, token_hash, until, fence) WHERE o.id = n.id",
        [row.id for row in rows],
        [row.lease_holder for row in rows],
        [row.lease_replica for row in rows],
        [row.lease_token_hash for row in rows],
        [row.lease_until for row in rows],
        [row.fence for row in rows],
    )


async def lease_extend(conn: Connection, operation_id: str, until: datetime) -> None:
    """Move the end of a lease; not a change anybody waits for."""
    await conn.execute("UPDATE operations SET lease_until = $2 WHERE id = $1", operation_id, until)


async def leases_lapsed(conn: Connection, now: datetime, limit: int) -> list[Record]:
    """Operations whose lease has ended."""
    return await conn.fetch(
        "SELECT id, instance_id, correlation_id FROM operations"
        " WHERE status IN ('accepted', 'running') AND lease_until <= $1"
        " ORDER BY lease_until LIMIT $2",
        now,
        limit,
    )


async def steps_overdue(conn: Connection, now: datetime, limit: int) -> list[Record]:
    """Operations with a running step past its deadline, not yet marked."""
    return await conn.fetch(
        "SELECT id, instance_id, correlation_id FROM operations"
        " WHERE status = 'running' AND step_deadline IS NOT NULL AND step_deadline <= $1"
        " ORDER BY step_deadline LIMIT $2",
        now,
        limit,
    )


@dataclass(frozen=True)
class OperationFilter:
    """Which operations a list is of."""

    reach: Reach
    project_id: str | None = None
    instance_id: str | None = None
    member_id: str | None = None
    group_id: str | None = None
    status: Sequence[OperationStatus] = ()
    kind: str | None = None
    correlation_id: str | None = None


async def operation_list(
    conn: Connection, wanted: OperationFilter, after: str | None, limit: int
) -> list[OperationRow]:
    """Operations in reach, newest first."""
    where, args = reach_where(wanted.reach)
    for condition, value in (
        ("project_id = ${}", wanted.project_id),
        ("instance_id = ${}", wanted.instance_id),
        ("(member_id = ${0} OR new_member_id = ${0})", wanted.member_id),
        ("group_id = ${}", wanted.group_id),
        ("status = ANY(${})", list(wanted.status) or None),
        ("kind = ${}", wanted.kind),
        ("correlation_id = ${}", wanted.correlation_id),
        ("id < ${}", after),
    ):
        if value is not None:
            args.append(value)
            where.append(condition.format(len(args)))
    args.append(limit)
    sql = f"{_SELECT} WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ${len(args)}"
    return [operation_of(record) for record in await conn.fetch(sql, *args)]


async def dependents_lock(conn: Connection, operation_id: str) -> list[OperationRow]:
    """Operations that wait for this one and have not begun, held."""
    records = await conn.fetch(
        f"{_SELECT} WHERE waits_for = $1 AND status = 'requested' ORDER BY position FOR UPDATE",
        operation_id,
    )
    return [operation_of(record) for record in records]


async def group_insert(conn: Connection, values: dict[str, Any]) -> None:
    """Add a group."""
    await conn.execute(insert_sql("operation_groups", list(values)), *values.values())


async def group_read(conn: Connection, group_id: str) -> Record | None:
    """One group."""
    return await conn.fetchrow("SELECT * FROM operation_groups WHERE id = $1", group_id)


def _claim_where(wanted: ClaimFilter, now: datetime) -> tuple[str, list[Any]]:
    where, args = [_CLAIMABLE, "app_slug = $2"], [now, wanted.app_slug]
    reach = wanted.reach
    if not reach.everywhere and reach.org_ids:
        args += [list(reach.org_ids), list(reach.project_ids)]
        where.append("(org_id = ANY($3) OR project_id = ANY($4))")
    elif not reach.everywhere and len(reach.project_ids) == 1:
        args.append(reach.project_ids[0])
        where.append("project_id = $3")
    elif not reach.everywhere:
        args.append(list(reach.project_ids))
        where.append("project_id = ANY($3)")
    for column, value in (("project_id", wanted.project_id), ("instance_id", wanted.instance_id)):
        if value is not None:
            args.append(value)
            where.append(f"{column} = ${len(args)}")
    return " AND ".join(where), args


def _waiting(record: Record) -> Waiting:
    waited = record["waited"]
    members = {record["member_id"], record["new_member_id"]} - {None}
    return Waiting(
        id=record["id"],
        exclusive=record["exclusive"],
        member_ids=frozenset(members),
        group_id=record["group_id"],
        parallelism=record["parallelism"],
        waits_for=record["waits_for"],
        waits_for_status=None if waited is None else OperationStatus(waited),
        status=OperationStatus(record["status"]),
        ready=record["ready"],
    )
