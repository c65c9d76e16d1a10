"""Duties that one process of all replicas does at a time: elected by the database, fenced by it.

A room's life starts a duty. Each candidate has a connection of its own; whoever holds the session
lock of the duty on it does the work, on that same connection. A holder that dies, hangs or is cut
off loses the session and with it the lock; a statement it still had under way fails. Candidates
ask again every second: waiting inside the lock call would hold a snapshot open for ever.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import asyncpg
import structlog

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection, prepare_connection, server_settings
from gpuaas_platform.kernel.masking import error_told
from gpuaas_platform.kernel.replica import session_name
from gpuaas_platform.kernel.signals import Signals
from gpuaas_platform.kernel.telemetry import LOOP_FAILURES

_log = structlog.get_logger(__name__)
_ASK_SECONDS: Final = 1.0
_MAX_DELAY: Final = 15.0
_PAUSE_AT_END: Final = 0.2

# A holder says something at least every `every` seconds; one that is frozen or unreachable is
# dropped by the server after this long, and another takes over.
_SILENCE_MS: Final = 10_000
_SESSION: Final = {
    "idle_session_timeout": str(_SILENCE_MS),
    "idle_in_transaction_session_timeout": str(_SILENCE_MS),
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}


@dataclass(frozen=True)
class Duty:
    """What to do on the connection that holds the lock, how often at least, what wakes it earlier.

    A turn returns whether there is more to do at once. `every` stays well under ten seconds.
    `pause` is the least time between turns: what comes meanwhile is done together.
    """

    name: str
    turn: Callable[[Connection], Awaitable[bool]]
    every: float
    topic: str
    pause: float = 0.0


@contextlib.asynccontextmanager
async def duty_running(platform: Platform, duty: Duty) -> AsyncIterator[None]:
    """Be a candidate for the duty, and do it when elected, for as long as the block runs."""
    task = asyncio.create_task(_candidate(platform, duty), name=duty.name)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def duty_lock(name: str) -> int:
    """The key of the duty's lock: eight bytes of a digest of its name."""
    digest = hashlib.sha256(b"gpuaas-duty\0" + name.encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


async def _candidate(platform: Platform, duty: Duty) -> None:
    """Stand for election again and again; whatever goes wrong costs a growing delay, no more."""
    failures = 0
    while True:
        try:
            async with _session(platform.db.url, duty) as conn:
                await _elected(conn, duty)
                _log.info("duty_taken", duty=duty.name)
                while True:
                    await _turn(conn, platform.signals, duty)
                    failures = 0
        except Exception as error:  # noqa: BLE001 - a duty outlives whatever one turn meets
            failures += 1
            LOOP_FAILURES.labels(duty.name).inc()
            _log.warning(
                "duty_interrupted", duty=duty.name, error=error_told(error), failures=failures
            )
            await asyncio.sleep(min(0.1 * 2**failures, _MAX_DELAY))


@contextlib.asynccontextmanager
async def _session(url: str, duty: Duty) -> AsyncIterator[Connection]:
    who = {"application_name": session_name(duty.name)}  # so that one can see who has it
    settings = server_settings() | _SESSION | who
    conn = await asyncpg.connect(url, server_settings=settings, command_timeout=30)
    try:
        await prepare_connection(conn)
        yield conn
    finally:
        conn.terminate()  # at once: the lock goes with the session


async def _elected(conn: Connection, duty: Duty) -> None:
    while True:
        if await conn.fetchval("SELECT pg_try_advisory_lock($1)", duty_lock(duty.name)):
            return
        await asyncio.sleep(_ASK_SECONDS)


async def _turn(conn: Connection, signals: Signals, duty: Duty) -> None:
    with signals.expect(duty.topic) as expected:
        if await duty.turn(conn):
            return
        await asyncio.sleep(duty.pause)
        await expected.wait(duty.every)
    if signals.finishing:  # nothing waits any more: do not spin until the process ends
        await asyncio.sleep(_PAUSE_AT_END)
