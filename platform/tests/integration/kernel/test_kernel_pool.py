"""The pool: never more than its size, first come first served, nothing broken is used again."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from anyio.lowlevel import checkpoint
from eventually import eventually

from gpuaas_platform.kernel import pool as module
from gpuaas_platform.kernel.database import Database
from gpuaas_platform.kernel.pool import Pool
from gpuaas_platform.kernel.problems import PlatformError, Unavailable


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    made = Pool(lambda: asyncpg.connect(database_url), size=2, least=1)
    await made.open()
    yield made
    await made.close()


async def test_the_one_used_last_is_used_next(pool: Pool) -> None:
    assert (pool.used, pool.idle) == (0, 1)
    first, second = await pool.take(), await pool.take()
    assert (pool.used, pool.idle) == (2, 0)
    pool.give(first)
    pool.give(second)
    assert (pool.used, pool.idle) == (0, 2)
    assert await pool.take() is second
    pool.give(second)


async def test_whoever_waits_longest_is_served_first(pool: Pool) -> None:
    first, second = await pool.take(), await pool.take()
    waiting = [asyncio.create_task(pool.take()) for _ in range(2)]
    await checkpoint()
    pool.give(second)
    assert await waiting[0] is second
    assert not waiting[1].done()
    pool.give(first)
    assert await waiting[1] is first
    pool.give(first)
    pool.give(second)


async def test_one_who_stops_waiting_takes_nothing_along(pool: Pool) -> None:
    first, second = await pool.take(), await pool.take()
    impatient = asyncio.create_task(pool.take())
    unlucky = asyncio.create_task(pool.take())
    await checkpoint()
    impatient.cancel()
    await checkpoint()
    pool.give(first)
    unlucky.cancel()  # its connection is in its hands, but it never runs again
    with pytest.raises(asyncio.CancelledError):
        await unlucky
    assert (pool.used, pool.idle) == (1, 1)
    pool.give(second)


async def test_a_connection_that_died_is_replaced(pool: Pool) -> None:
    one = await pool.take()
    pool.give(one)
    one.terminate()
    other = await pool.take()
    assert other is not one
    assert await other.fetchval("SELECT 1") == 1
    pool.give(other)


async def test_what_is_not_sound_is_cut_and_its_place_passed_on(pool: Pool) -> None:
    first, second = await pool.take(), await pool.take()
    waiting = asyncio.create_task(pool.take())
    await checkpoint()
    pool.give(first, sound=False)
    third = await waiting
    assert first.is_closed()
    assert third is not first
    pool.give(second)
    pool.give(third)


async def test_an_open_transaction_never_comes_back(pool: Pool) -> None:
    one = await pool.take()
    await one.execute("BEGIN")
    pool.give(one)
    assert one.is_closed()
    assert (pool.used, pool.idle) == (0, 0)


async def test_a_server_that_refuses_leaves_the_place_free(database_url: str) -> None:
    answers = [ConnectionRefusedError(), None]

    async def connect() -> "asyncpg.Connection[asyncpg.Record]":
        error = answers.pop(0)
        if error is not None:
            raise error
        made: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database_url)
        return made

    pool = Pool(connect, size=1, least=0)
    with pytest.raises(ConnectionRefusedError):
        await pool.take()
    pool.give(await pool.take())
    await pool.close()


async def test_what_nobody_needs_is_closed(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = await pool.take(), await pool.take()
    pool.give(first)
    pool.give(second)
    monkeypatch.setattr(module, "_IDLE_SECONDS", -1.0)
    pool.give(await pool.take())
    assert first.is_closed()
    assert (pool.used, pool.idle) == (0, 1)


async def test_closing_waits_for_what_is_in_use_and_lets_nobody_in(pool: Pool) -> None:
    first, second = await pool.take(), await pool.take()
    waiting = asyncio.create_task(pool.take())
    await checkpoint()
    closing = asyncio.create_task(pool.close())
    with pytest.raises(asyncpg.InterfaceError):
        await waiting
    assert await first.fetchval("SELECT 1") == 1
    pool.give(first)
    assert not closing.done()
    pool.give(second)
    await closing
    assert first.is_closed()
    assert second.is_closed()


async def test_a_refusal_keeps_the_connection_and_a_cancellation_cuts_it(database_url: str) -> None:
    database = Database(database_url, size=2)
    await database.open()
    with pytest.raises(PlatformError):
        async with database.transaction() as kept:
            raise Unavailable("Something")
    async with database.connection() as again:
        assert again is kept
    sleeping = asyncio.create_task(database.fetchval("SELECT pg_sleep(300)"))
    admin = await asyncpg.connect(database_url)  # the platform's role may not see it
    runs = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep')"
    pid = again.get_server_pid()
    await eventually(lambda: admin.fetchval(runs, pid), what="a statement that runs")
    await admin.close()
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping
    assert again.is_closed()
    assert await database.fetchval("SELECT 1") == 1
    await database.close()
    with pytest.raises(Unavailable):
        await database.fetchval("SELECT 1")


async def test_a_database_that_refuses_is_not_there(postgres_url: str) -> None:
    """As after its password was changed: a failure to be tried again, and no bug."""
    database = Database(postgres_url.replace("/gpuaas?", "/nowhere?"), size=2)
    with pytest.raises(Unavailable) as refused:
        await database.open()
    assert 'database "nowhere" does not exist' in str(refused.value.__cause__)
