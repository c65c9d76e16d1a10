"""SQL of node tasks, their output, and the principals they set."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions, Listing, listing_sql


@dataclass(frozen=True)
class NewTask:
    """A task to be."""

    id: str
    place: Place
    allocation_id: str
    node_id: str
    kind: str
    spec: dict[str, Any]
    label: str
    begin_before: datetime
    created_by: str
    correlation_id: str


@dataclass(frozen=True)
class TaskFilter:
    """Which tasks a list shows."""

    reach: Reach
    allocation_id: str | None
    status: str | None


async def task_insert(conn: Connection, new: NewTask, now: datetime) -> Record | None:
    """Keep a task."""
    return await conn.fetchrow(
        "INSERT INTO node_tasks (id, org_id, project_id, allocation_id, node_id, kind, spec, label,"
        " begin_before, created_by, correlation_id, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING *",
        new.id, new.place.org_id, new.place.project_id, new.allocation_id, new.node_id, new.kind,
        new.spec, new.label, new.begin_before, new.created_by, new.correlation_id, now,
    )  # fmt: skip


async def task_read(conn: Connection, task_id: str) -> Record | None:
    """One task."""
    return await conn.fetchrow("SELECT * FROM node_tasks WHERE id = $1", task_id)


async def task_lock(conn: Connection, task_id: str) -> Record | None:
    """One task, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM node_tasks WHERE id = $1 FOR UPDATE", task_id)


async def tasks_open(conn: Connection, node_id: str) -> list[Record]:
    """Tasks of a node that have not ended, in the order they were asked for."""
    return await conn.fetch(
        "SELECT * FROM node_tasks WHERE node_id = $1 AND status IN ('queued', 'running')"
        " ORDER BY id LIMIT 200",
        node_id,
    )


async def task_list(
    conn: Connection, wanted: TaskFilter, after: str | None, limit: int
) -> list[Record]:
    """Tasks in reach, newest first."""
    conditions = Conditions()
    narrow = conditions.add_given("allocation_id = {}", wanted.allocation_id)
    conditions.add_given("status = {}", wanted.status)
    conditions.add_given("id < {}", after)
    listing = Listing("node_tasks", "id", limit, narrow=narrow)
    return await conn.fetch(listing_sql(listing, conditions, wanted.reach), *conditions.args)


async def task_start(conn: Connection, task_id: str, now: datetime) -> Record | None:
    """A task that is held begins."""
    return await conn.fetchrow(
        "UPDATE node_tasks SET status = 'running', started_at = $2, revision = revision + 1"
        " WHERE id = $1 RETURNING *",
        task_id, now,
    )  # fmt: skip


@dataclass(frozen=True)
class Ending:
    """How a task ended."""

    status: str
    result: dict[str, Any]
    output_cut: bool = False


async def task_end(conn: Connection, task_id: str, ending: Ending, now: datetime) -> Record | None:
    """A task that is held has ended."""
    return await conn.fetchrow(
        "UPDATE node_tasks SET status = $2, result = $3, output_cut = output_cut OR $4,"
        " ended_at = $5, revision = revision + 1 WHERE id = $1 RETURNING *",
        task_id, ending.status, ending.result, ending.output_cut, now,
    )  # fmt: skip


async def task_cancel_mark(conn: Connection, task_id: str, now: datetime) -> Record | None:
    """A task that is held is to be stopped."""
    return await conn.fetchrow(
        "UPDATE node_tasks SET cancel_requested_at = $2, revision = revision + 1 WHERE id = $1"
        " RETURNING *",
        task_id, now,
    )  # fmt: skip


async def tasks_due(conn: Connection, now: datetime, limit: int) -> list[str]:
    """Tasks that have not begun in time."""
    rows = await conn.fetch(
        "SELECT id FROM node_tasks WHERE status = 'queued' AND begin_before <= $1"
        " ORDER BY begin_before LIMIT $2",
        now, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def output_add(conn: Connection, task_id: str, start: int, data: bytes) -> None:
    """Keep a piece of output of a task that is held."""
    await conn.execute(
        "INSERT INTO node_task_output (task_id, start, data) VALUES ($1, $2, $3)",
        task_id, start, data,
    )  # fmt: skip
    await conn.execute(
        "UPDATE node_tasks SET output_bytes = $2, revision = revision + 1 WHERE id = $1",
        task_id, start + len(data),
    )  # fmt: skip


async def output_read(conn: Connection, task_id: str, offset: int, limit: int) -> bytes:
    """Output from an offset on, so many bytes at most."""
    rows = await conn.fetch(
        "SELECT start, data FROM node_task_output WHERE task_id = $1 AND start < $3"
        " AND start + length(data) > $2 ORDER BY start",
        task_id, offset, offset + limit,
    )  # fmt: skip
    if not rows:
        return b""
    joined = b"".join(row["data"] for row in rows)
    begin = offset - rows[0]["start"]
    return joined[begin : begin + limit]


async def output_forget(conn: Connection, before: datetime) -> None:
    """Forget output of tasks that ended long ago."""
    await conn.execute(
        "WITH old AS (UPDATE node_tasks SET output_bytes = 0, output_cut = true"
        " WHERE output_bytes > 0 AND ended_at < $1 RETURNING id)"
        " DELETE FROM node_task_output WHERE task_id IN (SELECT id FROM old)",
        before,
    )


async def principals_set(conn: Connection, allocation_id: str, users: dict[str, list[str]]) -> None:
    """Who may log in as whom; replaces what was set before."""
    await conn.execute("DELETE FROM allocation_principals WHERE allocation_id = $1", allocation_id)
    await conn.executemany(
        "INSERT INTO allocation_principals (allocation_id, username, principals)"
        " VALUES ($1, $2, $3)",
        [(allocation_id, user, principals) for user, principals in sorted(users.items())],
    )


async def principals_read(conn: Connection, allocation_id: str) -> Sequence[Record]:
    """Who may log in as whom."""
    return await conn.fetch(
        "SELECT username, principals FROM allocation_principals WHERE allocation_id = $1"
        " ORDER BY username",
        allocation_id,
    )


async def tasks_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Tasks that carry a correlation id, for its timeline."""
    sql, args = correlated_sql(_CORRELATED, query)
    return await conn.fetch(sql, *args)


async def outputs_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Scripts that carry a correlation id and wrote something, with the end of it (`tail`)."""
    sql, args = correlated_sql(_OUTPUTS, query)
    return await conn.fetch(sql, *args)


_CORRELATED = CorrelatedRows("node_tasks", "created_at", "id", Permission.NODE_TASK_READ)
# A file that was collected is output too, and no log.
_OUTPUTS = CorrelatedRows(
    "(SELECT t.*, (SELECT string_agg(o.data, ''::bytea ORDER BY o.start)"
    " FROM node_task_output o WHERE o.task_id = t.id"
    " AND o.start + length(o.data) > t.output_bytes - 4096) AS tail"
    " FROM node_tasks t WHERE t.output_bytes > 0 AND t.kind = 'run_script')",
    "coalesce(ended_at, started_at, created_at)",
    "id || '/output'",
    Permission.NODE_TASK_READ,
)
