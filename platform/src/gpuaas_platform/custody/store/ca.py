"""SQL of the SSH authority's keys."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record

_LOCK = 0x7373_685F_6361  # "ssh_ca"


@dataclass(frozen=True)
class NewCaKey:
    """A key of the authority to be."""

    id: str
    status: str
    public_key: str
    fingerprint: str
    secret_path: str


async def ca_lock(conn: Connection) -> None:
    """One change of the authority at a time, also while it has no key yet."""
    await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)


async def ca_key_insert(conn: Connection, new: NewCaKey, now: datetime) -> None:
    """Keep a new key."""
    await conn.execute(
        "INSERT INTO ssh_ca_keys"
        " (id, status, public_key, fingerprint, secret_path, created_at, changed_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $6)",
        new.id, new.status, new.public_key, new.fingerprint, new.secret_path, now,
    )  # fmt: skip


async def ca_key_list(conn: Connection) -> list[Record]:
    """Keys hosts trust, oldest first."""
    return await conn.fetch("SELECT * FROM ssh_ca_keys WHERE status <> 'retired' ORDER BY id")


async def ca_key_current(conn: Connection) -> Record | None:
    """The key that signs."""
    return await conn.fetchrow("SELECT * FROM ssh_ca_keys WHERE status = 'current'")


async def ca_key_move(conn: Connection, key_id: str, status: str, now: datetime) -> None:
    """Give a key its next status."""
    await conn.execute(
        "UPDATE ssh_ca_keys SET status = $2, changed_at = $3 WHERE id = $1", key_id, status, now
    )
