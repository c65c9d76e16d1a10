"""SQL of cleanings of nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class NewCleaning:
    """A cleaning to be."""

    id: str
    node_id: str
    node_name: str
    region: str
    org_id: str | None
    method: str
    had_agent: bool
    opens_as: str
    deadline_at: datetime
    correlation_id: str


async def cleaning_insert(conn: Connection, new: NewCleaning, now: datetime) -> Record | None:
    """Keep a cleaning; None when one of this node is open."""
    return await conn.fetchrow(
        "INSERT INTO node_cleanings (id, node_id, node_name, region, org_id, method, status,"
        " had_agent, opens_as, deadline_at, correlation_id, due_at, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, 'closing', $7, $8, $9, $10, $11, $11)"
        " ON CONFLICT (node_id) WHERE status NOT IN ('succeeded', 'retired') DO NOTHING"
        " RETURNING *",
        new.id, new.node_id, new.node_name, new.region, new.org_id, new.method, new.had_agent,
        new.opens_as, new.deadline_at, new.correlation_id, now,
    )  # fmt: skip


async def cleaning_read(conn: Connection, cleaning_id: str) -> Record | None:
    """One cleaning."""
    return await conn.fetchrow("SELECT * FROM node_cleanings WHERE id = $1", cleaning_id)


async def cleaning_lock(conn: Connection, cleaning_id: str) -> Record | None:
    """One cleaning, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM node_cleanings WHERE id = $1 FOR UPDATE", cleaning_id)


async def cleaning_open_lock(conn: Connection, node_id: str) -> Record | None:
    """The cleaning of a node that has not ended, held until the transaction ends."""
    return await conn.fetchrow(
        "SELECT * FROM node_cleanings WHERE node_id = $1"
        " AND status NOT IN ('succeeded', 'retired') FOR UPDATE",
        node_id,
    )


@dataclass(frozen=True)
class CleaningFilter:
    """Which cleanings a list shows."""

    node_id: str | None
    status: str | None


async def cleaning_list(
    conn: Connection, wanted: CleaningFilter, after: str | None, limit: int
) -> list[Record]:
    """Cleanings, newest first."""
    return await conn.fetch(
        "SELECT * FROM node_cleanings WHERE ($1::text IS NULL OR node_id = $1)"
        " AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR id < $3)"
        " ORDER BY id DESC LIMIT $4",
        wanted.node_id, wanted.status, after, limit,
    )  # fmt: skip


async def cleanings_due(conn: Connection, now: datetime, limit: int) -> list[Record]:
    """Cleanings that may have a next step: not those that wait for an operator."""
    return await conn.fetch(
        "SELECT id, region, correlation_id FROM node_cleanings WHERE due_at <= $1"
        " AND status IN ('closing', 'wiping', 'enrolling', 'checking')"
        " AND (method NOT IN ('attested', 'same_tenant_only') OR status <> 'wiping'"
        " OR confirmed_by IS NOT NULL)"
        " ORDER BY due_at LIMIT $2",
        now, limit,
    )  # fmt: skip


@dataclass(frozen=True)
class Changed:
    """What a cleaning comes to."""

    id: str
    status: str
    reason: str
    steps: Sequence[dict[str, Any]]
    deadline_at: datetime | None = None
    ended_at: datetime | None = None


async def cleaning_change(conn: Connection, changed: Changed) -> Record | None:
    """Move a cleaning that is held."""
    return await conn.fetchrow(
        "UPDATE node_cleanings SET status = $2, status_reason = $3, steps = $4, deadline_at = $5,"
        " ended_at = $6, revision = revision + 1 WHERE id = $1 RETURNING *",
        changed.id, changed.status, changed.reason, list(changed.steps), changed.deadline_at,
        changed.ended_at,
    )  # fmt: skip


async def cleaning_confirm(
    conn: Connection, cleaning_id: str, by: str, *, had_agent: bool, now: datetime
) -> None:
    """An operator has confirmed a cleaning that is held."""
    await conn.execute(
        "UPDATE node_cleanings SET confirmed_by = $2, had_agent = $3, due_at = $4 WHERE id = $1",
        cleaning_id, by, had_agent, now,
    )  # fmt: skip


async def cleaning_begin_again(conn: Connection, cleaning_id: str, now: datetime) -> None:
    """A cleaning that is held starts over with its hook or provider."""
    await conn.execute(
        "UPDATE node_cleanings SET attempt = 0, taken = false, confirmed_by = NULL, due_at = $2"
        " WHERE id = $1",
        cleaning_id, now,
    )  # fmt: skip


async def hook_asked(conn: Connection, cleaning_id: str, due_at: datetime) -> None:
    """A request to the hook begins; it counts as lost when nothing is heard of it by then."""
    await conn.execute(
        "UPDATE node_cleanings SET attempt = attempt + 1, due_at = $2 WHERE id = $1",
        cleaning_id,
        due_at,
    )


async def hook_answered(
    conn: Connection, cleaning_id: str, due_at: datetime, *, taken: bool
) -> None:
    """What became of a request to the hook."""
    await conn.execute(
        "UPDATE node_cleanings SET taken = $2, due_at = $3 WHERE id = $1",
        cleaning_id, taken, due_at,
    )  # fmt: skip
