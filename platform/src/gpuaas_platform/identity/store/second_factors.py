"""SQL of second factors and recovery codes."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class NewFactor:
    """A second factor to be, before its first code."""

    id: str
    user_id: str
    kind: str
    name: str
    secret: bytes
    now: datetime


async def factor_insert(conn: Connection, new: NewFactor) -> None:
    """Keep a factor that is not confirmed; others of the person that are not are forgotten."""
    await conn.execute(
        "DELETE FROM second_factors WHERE user_id = $1 AND confirmed_at IS NULL", new.user_id
    )
    await conn.execute(
        "INSERT INTO second_factors (id, user_id, kind, name, secret, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6)",
        new.id,
        new.user_id,
        new.kind,
        new.name,
        new.secret,
        new.now,
    )


async def factor_lock(conn: Connection, factor_id: str) -> Record | None:
    """A factor, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM second_factors WHERE id = $1 FOR UPDATE", factor_id)


async def factors_lock(conn: Connection, user_id: str) -> list[Record]:
    """A person's confirmed factors, held until the transaction ends."""
    return await conn.fetch(
        "SELECT * FROM second_factors WHERE user_id = $1 AND confirmed_at IS NOT NULL"
        " ORDER BY id FOR UPDATE",
        user_id,
    )


async def factors_exist(conn: Connection, user_id: str) -> bool:
    """Whether a person has a confirmed factor."""
    found: bool = await conn.fetchval(
        "SELECT EXISTS (SELECT FROM second_factors WHERE user_id = $1"
        " AND confirmed_at IS NOT NULL)",
        user_id,
    )
    return found


async def factors_page(
    conn: Connection, user_id: str, before: str | None, count: int
) -> list[Record]:
    """A person's confirmed factors, newest first."""
    return await conn.fetch(
        "SELECT * FROM second_factors WHERE user_id = $1 AND confirmed_at IS NOT NULL AND id < $2"
        " ORDER BY id DESC LIMIT $3",
        user_id,
        before or LAST,
        count,
    )


async def factor_used(conn: Connection, factor_id: str, step: int, now: datetime) -> None:
    """A factor's code was accepted; the first one confirms the factor."""
    await conn.execute(
        "UPDATE second_factors SET last_step = $2, last_used_at = $3,"
        " confirmed_at = coalesce(confirmed_at, $3) WHERE id = $1",
        factor_id,
        step,
        now,
    )


async def factor_delete(conn: Connection, factor_id: str) -> None:
    """Forget a factor."""
    await conn.execute("DELETE FROM second_factors WHERE id = $1", factor_id)


async def factors_delete(conn: Connection, user_id: str) -> None:
    """Forget all factors and recovery codes of a person."""
    await conn.execute("DELETE FROM second_factors WHERE user_id = $1", user_id)
    await conn.execute("DELETE FROM recovery_codes WHERE user_id = $1", user_id)


async def codes_write(conn: Connection, user_id: str, hashes: list[bytes]) -> None:
    """Give a person recovery codes in the place of those they have."""
    await conn.execute("DELETE FROM recovery_codes WHERE user_id = $1", user_id)
    await conn.execute(
        "INSERT INTO recovery_codes (user_id, hash) SELECT $1, unnest($2::bytea[])",
        user_id,
        hashes,
    )


async def codes_left(conn: Connection, user_id: str) -> int:
    """How many recovery codes a person has not used."""
    count: int = await conn.fetchval(
        "SELECT count(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL", user_id
    )
    return count


async def code_use(conn: Connection, user_id: str, hash_: bytes, now: datetime) -> bool:
    """Use up a recovery code; whether it was there and unused."""
    return bool(
        await conn.fetchval(
            "UPDATE recovery_codes SET used_at = $3"
            " WHERE user_id = $1 AND hash = $2 AND used_at IS NULL RETURNING true",
            user_id,
            hash_,
            now,
        )
    )
