"""SQL of sign-in throttling, shared by all replicas."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuaas_platform.kernel.database import Connection

# Counts an attempt unless the subject is blocked. `free` attempts pass; then each doubles the wait.
# What is not blocked says so by no time at all: attempts at once, and replicas whose clocks differ,
# come here in another order than they began.
_COUNT = """
INSERT INTO sign_in_throttles AS t (subject, attempts, last_at, blocked_until)
VALUES ($1, 1, $2, '-infinity')
ON CONFLICT (subject) DO UPDATE SET
    attempts = CASE WHEN t.last_at < $2 - $5::interval THEN 1 ELSE t.attempts + 1 END,
    last_at = greatest(t.last_at, $2),
    blocked_until = CASE
        WHEN t.last_at < $2 - $5::interval OR t.attempts + 1 < $3 THEN '-infinity'
        ELSE $2 + least(interval '1 second' * 2 ^ least(t.attempts + 1 - $3, 30), $4::interval) END
WHERE t.blocked_until <= $2
RETURNING true
"""


@dataclass(frozen=True)
class Throttle:
    """How attempts of one kind are slowed down."""

    free: int
    longest: object
    forgotten_after: object


async def attempt_count(
    conn: Connection, subject: bytes, now: datetime, throttle: Throttle
) -> datetime | None:
    """Count an attempt; None when it may go on, else until when the subject is blocked."""
    counted = await conn.fetchval(
        _COUNT, subject, now, throttle.free, throttle.longest, throttle.forgotten_after
    )
    if counted:
        return None
    until: datetime | None = await conn.fetchval(
        "SELECT blocked_until FROM sign_in_throttles WHERE subject = $1", subject
    )
    return until if until is not None and until > now else None


async def failure_count(conn: Connection, subject: bytes, now: datetime, quiet: timedelta) -> int:
    """Count a failure of a subject that is never blocked; how many there were without a pause."""
    count: int = await conn.fetchval(
        "INSERT INTO sign_in_throttles AS t (subject, attempts, last_at, blocked_until)"
        " VALUES ($1, 1, $2, '-infinity') ON CONFLICT (subject) DO UPDATE SET"
        " attempts = CASE WHEN t.last_at < $2 - $3::interval THEN 1 ELSE t.attempts + 1 END,"
        " last_at = greatest(t.last_at, $2) RETURNING attempts",
        subject,
        now,
        quiet,
    )
    return count


async def failures_read(conn: Connection, subject: bytes, since: datetime) -> int:
    """How many failures of a subject `failure_count` has counted; 0 when the last is long past."""
    count: int | None = await conn.fetchval(
        "SELECT attempts FROM sign_in_throttles WHERE subject = $1 AND last_at >= $2",
        subject,
        since,
    )
    return count or 0


async def attempt_forgive(conn: Connection, pair: bytes, address: bytes | None) -> None:
    """A sign-in succeeded: the pair starts over, the address gets its one attempt back."""
    await attempt_forget(conn, pair)
    if address is not None:
        await attempt_return(conn, address)


async def attempt_return(conn: Connection, subject: bytes) -> None:
    """Give a subject this one attempt back; the others stay counted."""
    await conn.execute(
        "UPDATE sign_in_throttles SET attempts = greatest(attempts - 1, 0),"
        " blocked_until = '-infinity' WHERE subject = $1",
        subject,
    )


async def attempt_forget(conn: Connection, subject: bytes) -> None:
    """Let a subject start over."""
    await conn.execute("DELETE FROM sign_in_throttles WHERE subject = $1", subject)


async def throttles_sweep(conn: Connection, before: datetime) -> None:
    """Forget what has been quiet."""
    await conn.execute("DELETE FROM sign_in_throttles WHERE last_at < $1", before)
