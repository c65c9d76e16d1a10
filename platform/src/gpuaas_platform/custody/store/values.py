"""SQL of the embedded secret store, and of the paths any store is to forget."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True, repr=False)
class SealedValue:
    """One version of a secret as it lies in the database."""

    path: str
    version: int
    key_id: str
    wrapped_key: bytes
    nonce: bytes
    ciphertext: bytes


async def version_next(conn: Connection, path: str) -> int:
    """The number of the next version; the path is held until the transaction ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", path)
    last = await conn.fetchval("SELECT max(version) FROM secret_values WHERE path = $1", path)
    return (last or 0) + 1


async def value_insert(conn: Connection, value: SealedValue, now: datetime) -> None:
    """Keep a version."""
    await conn.execute(
        "INSERT INTO secret_values"
        " (path, version, key_id, wrapped_key, nonce, ciphertext, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        value.path, value.version, value.key_id, value.wrapped_key, value.nonce,
        value.ciphertext, now,
    )  # fmt: skip


async def value_read(conn: Connection, path: str, version: int | None) -> SealedValue | None:
    """A version, or the newest."""
    row = await conn.fetchrow(
        "SELECT * FROM secret_values WHERE path = $1 AND ($2::int IS NULL OR version = $2)"
        " ORDER BY version DESC LIMIT 1",
        path, version,
    )  # fmt: skip
    return None if row is None else _value(row)


async def version_list(conn: Connection, path: str) -> list[int]:
    """Numbers of the versions there are, oldest first."""
    rows = await conn.fetch(
        "SELECT version FROM secret_values WHERE path = $1 ORDER BY version", path
    )
    return [row["version"] for row in rows]


async def value_delete(conn: Connection, path: str) -> None:
    """Forget all versions."""
    await conn.execute("DELETE FROM secret_values WHERE path = $1", path)


async def values_lock_old(conn: Connection, key_id: str, limit: int) -> list[SealedValue]:
    """Versions wrapped by another key than this one; those another process holds are left out."""
    rows = await conn.fetch(
        "SELECT * FROM secret_values WHERE key_id <> $1 LIMIT $2 FOR UPDATE SKIP LOCKED",
        key_id, limit,
    )  # fmt: skip
    return [_value(row) for row in rows]


async def value_rewrap(conn: Connection, value: SealedValue) -> None:
    """Replace the wrapped data key of a version that is held; the secret itself is not touched."""
    await conn.execute(
        "UPDATE secret_values SET key_id = $3, wrapped_key = $4 WHERE path = $1 AND version = $2",
        value.path, value.version, value.key_id, value.wrapped_key,
    )  # fmt: skip


async def sweep_add(conn: Connection, path: str, due_at: datetime) -> None:
    """Have a path deleted once this moment has come."""
    await conn.execute(
        "INSERT INTO secret_sweep (path, due_at) VALUES ($1, $2)"
        " ON CONFLICT (path) DO UPDATE SET due_at = excluded.due_at",
        path, due_at,
    )  # fmt: skip


async def sweep_cancel(conn: Connection, path: str) -> bool:
    """Keep a path after all; False when it is being deleted or gone."""
    done = await conn.fetchval(
        "DELETE FROM secret_sweep WHERE path = $1 AND NOT taken RETURNING true", path
    )
    return bool(done)


async def sweep_take(conn: Connection, now: datetime, limit: int) -> list[str]:
    """Paths to delete by now, also those whose deletion was begun before; none can be kept now."""
    rows = await conn.fetch(
        "UPDATE secret_sweep SET taken = true WHERE path IN ("
        " SELECT path FROM secret_sweep WHERE due_at <= $1 ORDER BY due_at LIMIT $2"
        " FOR UPDATE SKIP LOCKED) RETURNING path",
        now, limit,
    )  # fmt: skip
    return [row["path"] for row in rows]


async def sweep_done(conn: Connection, path: str) -> None:
    """A path is deleted."""
    await conn.execute("DELETE FROM secret_sweep WHERE path = $1", path)


def _value(row: Record) -> SealedValue:
    return SealedValue(
        row["path"], row["version"], row["key_id"], row["wrapped_key"], row["nonce"],
        row["ciphertext"],
    )  # fmt: skip
