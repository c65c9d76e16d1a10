"""SQL of failed sign-ins, as the person whose account they name sees them."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class Failure:
    """A failed sign-in: to whose account, from where."""

    id: str
    user_id: str
    source: str
    now: datetime


async def failure_keep(conn: Connection, failure: Failure) -> None:
    """Count a failed sign-in to an account from an address."""
    await conn.execute(
        "INSERT INTO sign_in_failures AS f (id, user_id, source, attempts, first_at, last_at)"
        " VALUES ($1, $2, $3, 1, $4, $4) ON CONFLICT (user_id, source) DO UPDATE"
        " SET attempts = f.attempts + 1, last_at = greatest(f.last_at, $4)",
        failure.id,
        failure.user_id,
        failure.source,
        failure.now,
    )


async def failures_page(
    conn: Connection, user_id: str, before: str | None, count: int
) -> list[Record]:
    """Failed sign-ins to an account by address, the address that came last first."""
    return await conn.fetch(
        "SELECT * FROM sign_in_failures WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        user_id,
        before or LAST,
        count,
    )


async def failures_sweep(conn: Connection, before: datetime) -> None:
    """Forget addresses that have been quiet."""
    await conn.execute("DELETE FROM sign_in_failures WHERE last_at < $1", before)
