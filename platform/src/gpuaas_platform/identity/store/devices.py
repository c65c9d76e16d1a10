"""SQL of terminals' sign-ins, from the code shown to the token fetched."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record

_BY_CODE = "SELECT * FROM device_sign_ins WHERE user_code = $1"
_BY_CODE_HELD = f"{_BY_CODE} FOR UPDATE"
_BY_SECRET = "SELECT * FROM device_sign_ins WHERE secret_hash = $1"  # noqa: S105 - a statement
_BY_SECRET_HELD = f"{_BY_SECRET} FOR UPDATE"


@dataclass(frozen=True)
class NewDevice:
    """A terminal's sign-in to be."""

    id: str
    secret_hash: bytes
    user_code: str
    name: str
    source: str
    token_seconds: int
    now: datetime
    expires_at: datetime


async def device_insert(conn: Connection, new: NewDevice) -> None:
    """Keep a sign-in that waits."""
    await conn.execute(
        "INSERT INTO device_sign_ins (id, secret_hash, user_code, name, source, token_seconds,"
        " created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        new.id,
        new.secret_hash,
        new.user_code,
        new.name,
        new.source,
        new.token_seconds,
        new.now,
        new.expires_at,
    )


async def device_by_code(conn: Connection, user_code: str, *, lock: bool = False) -> Record | None:
    """The sign-in a code stands for; `lock` holds it until the transaction ends."""
    return await conn.fetchrow(_BY_CODE_HELD if lock else _BY_CODE, user_code)


async def device_by_secret(conn: Connection, hash_: bytes, *, lock: bool = False) -> Record | None:
    """The sign-in a terminal's secret stands for; `lock` holds it until the transaction ends."""
    return await conn.fetchrow(_BY_SECRET_HELD if lock else _BY_SECRET, hash_)


async def device_write(
    conn: Connection, device_id: str, status: str, user_id: str, org_id: str | None = None
) -> None:
    """A sign-in has been decided, or used; `org_id` where it is for one tenant only."""
    await conn.execute(
        "UPDATE device_sign_ins SET status = $2, user_id = $3, org_id = coalesce($4, org_id)"
        " WHERE id = $1",
        device_id,
        status,
        user_id,
        org_id,
    )


async def devices_forget(conn: Connection, user_id: str) -> None:
    """Forget the terminals a user let in that have not fetched their token yet."""
    await conn.execute(
        "DELETE FROM device_sign_ins WHERE user_id = $1 AND status = 'approved'", user_id
    )


async def devices_sweep(conn: Connection, before: datetime) -> None:
    """Forget sign-ins that ended before a time."""
    await conn.execute("DELETE FROM device_sign_ins WHERE expires_at < $1", before)
