"""SQL of instances and members."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final

import asyncpg

from gpuaas_contract.states import InstanceStatus, MemberStatus
from gpuaas_platform.apps.rows import InstanceRow, MemberRow, instance_of, member_of
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.database import Connection


def columns_of(row: type) -> list[str]:
    """Names of the columns of a table, which are the fields of its row."""
    return [one.name for one in fields(row)]


def values_of(row: object, columns: Sequence[str]) -> list[object]:
    """The values of these columns of a row."""
    return [getattr(row, name) for name in columns]


def insert_sql(table: str, columns: Sequence[str]) -> str:
    """An insert of one row, a parameter per column."""
    marks = ", ".join(f"${n}" for n in range(1, len(columns) + 1))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - names of columns, no input


def update_sql(table: str, columns: Sequence[str]) -> str:
    """An update of one row by id ($1) that raises its revision."""
    sets = ", ".join(f"{name} = ${n}" for n, name in enumerate(columns, 2))
    return f"UPDATE {table} SET {sets}, revision = revision + 1 WHERE id = $1 RETURNING revision"  # noqa: S608 - names of columns, no input


_INSTANCE: Final = columns_of(InstanceRow)
_MEMBER: Final = columns_of(MemberRow)
_FIXED: Final = {"id", "org_id", "project_id", "instance_id", "app_slug", "created_at", "revision"}
_INSTANCE_CHANGES: Final = [name for name in _INSTANCE if name not in _FIXED]
_MEMBER_CHANGES: Final = [name for name in _MEMBER if name not in _FIXED]
_SELECT_INSTANCE: Final = f"SELECT {', '.join(_INSTANCE)} FROM app_instances"  # noqa: S608 - names of columns, no input
_SELECT_MEMBER: Final = f"SELECT {', '.join(_MEMBER)} FROM app_members"  # noqa: S608 - names of columns, no input
_INSERT_INSTANCE: Final = insert_sql("app_instances", _INSTANCE)
_INSERT_MEMBER: Final = insert_sql("app_members", _MEMBER)
_UPDATE_INSTANCE: Final = update_sql("app_instances", _INSTANCE_CHANGES)
_UPDATE_MEMBER: Final = update_sql("app_members", _MEMBER_CHANGES)
CLAIMS: Final = (
    "(SELECT coalesce(sum(fence), 0) FROM operations WHERE instance_id = $1"
    " AND status IN ('requested', 'accepted', 'running'))"
)
"""How often the open operations of an instance ($1) were claimed, all together."""


@dataclass(frozen=True)
class InstanceFilter:
    """Which instances a list is of."""

    reach: Reach
    project_id: str | None = None
    app_slug: str | None = None
    status: Sequence[InstanceStatus] = ()
    search: str | None = None


async def instance_insert(conn: Connection, row: InstanceRow) -> bool:
    """Add an instance; False when its name is taken in the project."""
    try:
        async with conn.transaction():
            await conn.execute(_INSERT_INSTANCE, *values_of(row, _INSTANCE))
    except asyncpg.UniqueViolationError:
        return False
    return True


async def instance_read(conn: Connection, instance_id: str) -> InstanceRow | None:
    """One instance."""
    record = await conn.fetchrow(f"{_SELECT_INSTANCE} WHERE id = $1", instance_id)
    return None if record is None else instance_of(record)


async def instance_lock(conn: Connection, instance_id: str) -> InstanceRow | None:
    """One instance, held until the transaction ends: the first lock of every change to it."""
    record = await conn.fetchrow(f"{_SELECT_INSTANCE} WHERE id = $1 FOR UPDATE", instance_id)
    return None if record is None else instance_of(record)


async def instance_save(conn: Connection, row: InstanceRow) -> int:
    """Write an instance that is locked; returns its new revision."""
    return int(await conn.fetchval(_UPDATE_INSTANCE, row.id, *values_of(row, _INSTANCE_CHANGES)))


async def worked_save(conn: Connection, row: InstanceRow) -> None:
    """Write that operations of a locked instance moved; not a change of its own anybody sees."""
    await conn.execute("UPDATE app_instances SET worked = $2 WHERE id = $1", row.id, row.worked)


async def instance_list(
    conn: Connection, wanted: InstanceFilter, after: str | None, limit: int
) -> list[InstanceRow]:
    """Instances in reach, newest first."""
    where, args = reach_where(wanted.reach)
    for condition, value in (
        ("project_id = ${}", wanted.project_id),
        ("app_slug = ${}", wanted.app_slug),
        ("status = ANY(${})", list(wanted.status) or None),
        ("strpos(lower(adapter_detail ->> 'summary'), lower(${})) > 0", wanted.search),
        ("id < ${}", after),
    ):
        if value is not None:
            args.append(value)
            where.append(condition.format(len(args)))
    args.append(limit)
    sql = f"{_SELECT_INSTANCE} WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ${len(args)}"
    return [instance_of(record) for record in await conn.fetch(sql, *args)]


async def instances_read(conn: Connection, instance_ids: Sequence[str]) -> list[InstanceRow]:
    """Some instances."""
    records = await conn.fetch(f"{_SELECT_INSTANCE} WHERE id = ANY($1)", list(instance_ids))
    return [instance_of(record) for record in records]


async def instances_in(conn: Connection, statuses: Collection[InstanceStatus]) -> list[InstanceRow]:
    """Every instance in one of these states."""
    records = await conn.fetch(f"{_SELECT_INSTANCE} WHERE status = ANY($1)", list(statuses))
    return [instance_of(record) for record in records]


async def member_insert(conn: Connection, row: MemberRow) -> None:
    """Add a member."""
    await conn.execute(_INSERT_MEMBER, *values_of(row, _MEMBER))


async def member_read(conn: Connection, member_id: str) -> MemberRow | None:
    """One member."""
    record = await conn.fetchrow(f"{_SELECT_MEMBER} WHERE id = $1", member_id)
    return None if record is None else member_of(record)


async def member_save(conn: Connection, row: MemberRow) -> int:
    """Write a member whose instance is locked; returns its new revision."""
    return int(await conn.fetchval(_UPDATE_MEMBER, row.id, *values_of(row, _MEMBER_CHANGES)))


async def members_using(conn: Connection, instance_id: str, allocation_id: str) -> list[str]:
    """Ids of an instance's members on an allocation that are not removed."""
    rows = await conn.fetch(
        "SELECT id FROM app_members WHERE instance_id = $1 AND allocation_id = $2"
        " AND status <> 'removed' ORDER BY id",
        instance_id, allocation_id,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def members_live(conn: Connection, instance_ids: Sequence[str]) -> list[MemberRow]:
    """All members of these instances that are not removed, oldest first."""
    records = await conn.fetch(
        f"{_SELECT_MEMBER} WHERE instance_id = ANY($1) AND status <> 'removed' ORDER BY id",
        list(instance_ids),
    )
    return [member_of(record) for record in records]


@dataclass(frozen=True)
class MemberFilter:
    """Which members of an instance a list is of."""

    instance_id: str
    component_key: str | None = None
    status: Sequence[MemberStatus] = ()
    removed: bool = False


async def member_list(
    conn: Connection, wanted: MemberFilter, after: str | None, limit: int
) -> list[MemberRow]:
    """Members of an instance, newest first; tombstones only when asked for."""
    where = ["instance_id = $1"]
    args: list[object] = [wanted.instance_id]
    for condition, value in (
        ("component_key = ${}", wanted.component_key),
        ("status = ANY(${})", list(wanted.status) or None),
        ("id < ${}", after),
    ):
        if value is not None:
            args.append(value)
            where.append(condition.format(len(args)))
    if not wanted.removed and MemberStatus.REMOVED not in wanted.status:
        where.append("status <> 'removed'")
    sql = f"{_SELECT_MEMBER} WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT {int(limit)}"
    return [member_of(record) for record in await conn.fetch(sql, *args)]


async def observer_take(
    conn: Connection, row: InstanceRow, token_hash: bytes, until: datetime
) -> int:
    """Give the observer's lease of a locked instance; not a change anybody sees.

    Returns how often its open operations were claimed until now.
    """
    claims = await conn.fetchval(
        "UPDATE app_instances SET observer = $2, observer_token_hash = $3, observer_until = $4"  # noqa: S608 - code, no values
        f" WHERE id = $1 RETURNING {CLAIMS}",
        row.id,
        row.observer,
        token_hash,
        until,
    )
    return int(claims)


def reach_where(reach: Reach) -> tuple[list[str], list[object]]:
    """The condition that a row lies within reach, and its arguments."""
    if reach.everywhere:
        return ["true"], []
    if not reach.org_ids:
        return ["project_id = ANY($1)"], [list(reach.project_ids)]
    return (
        ["(org_id = ANY($1) OR project_id = ANY($2))"],
        [list(reach.org_ids), list(reach.project_ids)],
    )
