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
    now: datetime
    secret: bytes | None = None
    challenge: bytes | None = None


async def factor_insert(conn: Connection, new: NewFactor) -> None:
    """Keep a factor that is not confirmed; others of the person that are not are forgotten."""
    await conn.execute(
        "DELETE FROM second_factors WHERE user_id = $1 AND confirmed_at IS NULL", new.user_id
    )
    await conn.execute(
        "INSERT INTO second_factors (id, user_id, kind, name, secret, challenge, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        new.id,
        new.user_id,
        new.kind,
        new.name,
        new.secret,
        new.challenge,
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


async def factor_kinds(conn: Connection, user_id: str) -> list[str]:
    """Which kinds of confirmed factors a person has."""
    rows = await conn.fetch(
        "SELECT DISTINCT kind FROM second_factors WHERE user_id = $1"
        " AND confirmed_at IS NOT NULL ORDER BY kind",
        user_id,
    )
    return [row["kind"] for row in rows]


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


@dataclass(frozen=True)
class PasskeyUse:
    """A passkey that answered: its public half, and how often it has signed."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


async def passkey_used(conn: Connection, factor_id: str, use: PasskeyUse, now: datetime) -> None:
    """A passkey answered its challenge; the first time confirms the factor."""
    await conn.execute(
        "UPDATE second_factors SET credential_id = $2, public_key = $3, sign_count = $4,"
        " challenge = NULL, last_used_at = $5, confirmed_at = coalesce(confirmed_at, $5)"
        " WHERE id = $1",
        factor_id,
        use.credential_id,
        use.public_key,
        use.sign_count,
        now,
    )


async def passkeys_of(conn: Connection, user_id: str) -> list[bytes]:
    """The ids of a person's confirmed passkeys, as browsers know them."""
    rows = await conn.fetch(
        "SELECT credential_id FROM second_factors WHERE user_id = $1 AND kind = 'passkey'"
        " AND confirmed_at IS NOT NULL ORDER BY id",
        user_id,
    )
    return [bytes(row["credential_id"]) for row in rows]


async def challenge_insert(
    conn: Connection, challenge: bytes, user_id: str, expires_at: datetime
) -> None:
    """Keep what a person's passkey is to sign."""
    await conn.execute(
        "INSERT INTO passkey_challenges (challenge, user_id, expires_at) VALUES ($1, $2, $3)",
        challenge,
        user_id,
        expires_at,
    )


async def challenge_use(conn: Connection, challenge: bytes, user_id: str, now: datetime) -> bool:
    """Use up a challenge; whether it was this person's and its time has not run out."""
    return bool(
        await conn.fetchval(
            "DELETE FROM passkey_challenges WHERE challenge = $1 AND user_id = $2"
            " AND expires_at > $3 RETURNING true",
            challenge,
            user_id,
            now,
        )
    )


async def challenges_sweep(conn: Connection, before: datetime) -> None:
    """Forget challenges whose time has run out."""
    await conn.execute("DELETE FROM passkey_challenges WHERE expires_at < $1", before)


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
