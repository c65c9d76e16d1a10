"""SQL of enrolments."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class NewEnrolment:
    """An enrolment to be."""

    id: str
    token_hash: bytes
    node_name: str
    region: str
    sku: str
    address: str | None
    node_id: str | None
    expires_at: datetime
    created_by: str
    correlation_id: str
    generation: int


async def enrolment_insert(conn: Connection, new: NewEnrolment, now: datetime) -> Record | None:
    """Keep an enrolment."""
    return await conn.fetchrow(
        "INSERT INTO enrolments (id, token_hash, node_name, region, sku, address, node_id, known,"
        " expires_at, created_by, correlation_id, created_at, generation)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING *",
        new.id, new.token_hash, new.node_name, new.region, new.sku, new.address, new.node_id,
        new.node_id is not None, new.expires_at, new.created_by, new.correlation_id, now,
        new.generation,
    )  # fmt: skip


async def enrolment_read(conn: Connection, enrolment_id: str) -> Record | None:
    """One enrolment."""
    return await conn.fetchrow("SELECT * FROM enrolments WHERE id = $1", enrolment_id)


async def enrolment_lock(conn: Connection, enrolment_id: str) -> Record | None:
    """One enrolment, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM enrolments WHERE id = $1 FOR UPDATE", enrolment_id)


async def enrolment_by_token(conn: Connection, token_hash: bytes) -> Record | None:
    """The enrolment a token is for."""
    return await conn.fetchrow("SELECT * FROM enrolments WHERE token_hash = $1", token_hash)


async def enrolment_end(conn: Connection, enrolment_id: str, status: str) -> Record | None:
    """An enrolment that is held can be used no more."""
    return await conn.fetchrow(
        "UPDATE enrolments SET status = $2 WHERE id = $1 RETURNING *", enrolment_id, status
    )


async def enrolments_pending_lock(conn: Connection, node_id: str) -> list[Record]:
    """Enrolments of a node that can still be used, held until the transaction ends."""
    return await conn.fetch(
        "SELECT * FROM enrolments WHERE node_id = $1 AND status = 'pending' ORDER BY id FOR UPDATE",
        node_id,
    )


async def enrolment_use(
    conn: Connection, enrolment_id: str, node_id: str, now: datetime
) -> Record | None:
    """An enrolment that is held has its node."""
    return await conn.fetchrow(
        "UPDATE enrolments SET status = 'used', node_id = $2, used_at = $3 WHERE id = $1"
        " RETURNING *",
        enrolment_id, node_id, now,
    )  # fmt: skip


async def enrolment_list(
    conn: Connection, status: str | None, after: str | None, limit: int
) -> list[Record]:
    """Enrolments, newest first."""
    return await conn.fetch(
        "SELECT * FROM enrolments WHERE ($1::text IS NULL OR status = $1)"
        " AND ($2::text IS NULL OR id < $2) ORDER BY id DESC LIMIT $3",
        status, after, limit,
    )  # fmt: skip


async def enrolments_due(conn: Connection, now: datetime, limit: int) -> list[str]:
    """Enrolments whose time is over."""
    rows = await conn.fetch(
        "SELECT id FROM enrolments WHERE status = 'pending' AND expires_at <= $1"
        " ORDER BY expires_at LIMIT $2",
        now, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]
