"""SQL of runtime secrets and of who got them."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class NewSecret:
    """A secret to be."""

    id: str
    place: Place
    name: str
    secret_path: str
    expires_at: datetime | None
    created_by: str
    correlation_id: str


async def secret_insert(conn: Connection, new: NewSecret, now: datetime) -> Record | None:
    """Keep a secret; None when the project has an active one of that name."""
    return await conn.fetchrow(
        "INSERT INTO runtime_secrets (id, org_id, project_id, name, secret_path, expires_at,"
        " created_by, correlation_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " ON CONFLICT (project_id, name) WHERE status = 'active' DO NOTHING RETURNING *",
        new.id, new.place.org_id, new.place.project_id, new.name, new.secret_path, new.expires_at,
        new.created_by, new.correlation_id, now,
    )  # fmt: skip


async def secret_read(conn: Connection, secret_id: str) -> Record | None:
    """One secret."""
    return await conn.fetchrow("SELECT * FROM runtime_secrets WHERE id = $1", secret_id)


async def secret_lock(conn: Connection, secret_id: str) -> Record | None:
    """One secret, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM runtime_secrets WHERE id = $1 FOR UPDATE", secret_id)


async def secret_rotate(
    conn: Connection, secret_id: str, secret_path: str, expires_at: datetime | None
) -> Record:
    """The next version of a secret that is held."""
    [row] = await conn.fetch(
        "UPDATE runtime_secrets SET version = version + 1, secret_path = $2, expires_at = $3"
        " WHERE id = $1 RETURNING *",
        secret_id, secret_path, expires_at,
    )  # fmt: skip
    return row


async def secret_end(conn: Connection, secret_id: str, status: str, reason: str) -> Record:
    """A secret that is held can be delivered no more."""
    [row] = await conn.fetch(
        "UPDATE runtime_secrets SET status = $2, ended_reason = $3 WHERE id = $1 RETURNING *",
        secret_id, status, reason,
    )  # fmt: skip
    return row


async def secrets_due(conn: Connection, now: datetime, limit: int) -> list[str]:
    """Secrets whose lease is over."""
    rows = await conn.fetch(
        "SELECT id FROM runtime_secrets WHERE status = 'active' AND expires_at <= $1"
        " ORDER BY expires_at LIMIT $2",
        now, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]


@dataclass(frozen=True)
class Delivery:
    """Who gets which version, for what."""

    secret_id: str
    version: int
    reader: str
    task: str
    correlation_id: str
    allocation_id: str | None = None


async def delivery_known(conn: Connection, delivery: Delivery) -> bool:
    """Whether this reader had any version of this secret for this task before."""
    return bool(
        await conn.fetchval(
            "SELECT EXISTS (SELECT FROM secret_deliveries WHERE secret_id = $1 AND reader = $2"
            " AND task = $3)",
            delivery.secret_id, delivery.reader, delivery.task,
        )
    )  # fmt: skip


async def delivery_insert(conn: Connection, delivery: Delivery, now: datetime) -> bool:
    """Record a delivery; False when this reader had this version for this task before."""
    made = await conn.fetchval(
        "INSERT INTO secret_deliveries (secret_id, version, reader, task, at, correlation_id,"
        " allocation_id) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING true",
        delivery.secret_id, delivery.version, delivery.reader, delivery.task, now,
        delivery.correlation_id, delivery.allocation_id,
    )  # fmt: skip
    return bool(made)
