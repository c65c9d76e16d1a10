"""The relay numbers events without a gap, in order, and loses none when it is killed."""

import asyncio
import os
import signal
from pathlib import Path

import asyncpg
import pytest
from duty_process import duty_process
from eventually import eventually
from journal_fixtures import PROJECT, happen, numbered

from gpuaas_platform.events.relay import RELAY
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.elections import duty_lock

_HOLDER = (
    "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
    " WHERE l.locktype = 'advisory'"
    " AND l.granted AND ((l.classid::bigint << 32) | l.objid::bigint) = $1"
    " AND a.datname = current_database()"
)


async def test_events_get_gapless_numbers_in_order(platform: Platform) -> None:
    for number in range(5):
        await happen(platform, data={"n": number * 10}, count=3)
    rows = await numbered(platform, 15)
    assert [row["seq"] for row in rows] == list(range(1, 16))
    assert [row["data"]["n"] for row in rows] == [t + u for t in range(0, 50, 10) for u in range(3)]
    assert await platform.db.fetchval("SELECT count(*) FROM outbox") == 0


async def test_a_transaction_that_commits_late_is_not_lost(platform: Platform) -> None:
    async with platform.db.transaction() as slow:
        await slow.execute(
            "INSERT INTO outbox (id, type, subject, at, correlation_id, data)"
            " VALUES ('evt_slow', 'a.b', 's', now(), 'c', '{}')"
        )
        await happen(platform)
        rows = await numbered(platform, 1)
        assert rows[0]["id"] != "evt_slow"
    rows = await numbered(platform, 2)
    assert [(row["seq"], row["id"] == "evt_slow") for row in rows] == [(1, False), (2, True)]


async def test_numbers_go_on_after_all_events_were_swept(platform: Platform) -> None:
    await happen(platform, count=3)
    await numbered(platform, 3)
    await platform.db.execute("DELETE FROM events")
    await happen(platform)
    assert (await numbered(platform, 1))[0]["seq"] == 4


async def test_two_relays_at_once_never_number_twice(database_url: str, platform: Platform) -> None:
    """Even where an election failed: the step itself keeps them apart."""
    await asyncio.gather(*(happen(platform, count=20) for _ in range(20)))
    rivals = [await asyncpg.connect(database_url) for _ in range(4)]
    try:

        async def rush(rival: "asyncpg.Connection[asyncpg.Record]") -> None:
            await rival.execute("SET search_path = gpuaas")
            for _ in range(50):
                await rival.fetchval("SELECT relay(7)")

        await asyncio.gather(*(rush(rival) for rival in rivals))
    finally:
        for rival in rivals:
            await rival.close()
    rows = await numbered(platform, 400)
    assert [row["seq"] for row in rows] == list(range(1, 401))
    assert len({row["id"] for row in rows}) == 400


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
async def test_another_relay_takes_over(
    database_url: str, tmp_path: Path, how: signal.Signals
) -> None:
    """Writers never stop; whichever process holds the relay is killed, again and again."""
    admin = await asyncpg.connect(database_url, server_settings={"search_path": "gpuaas"})
    try:
        with (
            duty_process("relay", database_url, tmp_path) as first,
            duty_process("relay", database_url, tmp_path) as second,
        ):
            by_pid = {first.pid: first, second.pid: second}
            holder = by_pid[await _holder(admin)]
            heirs = [process for process in by_pid.values() if process is not holder]
            writing = asyncio.create_task(_write(database_url, 300))
            await _moved(admin, 20)
            os.kill(holder.pid, how)
            await _moved(admin, 300)
            await writing
            assert await _holder(admin) == heirs[0].pid
            if how is signal.SIGSTOP:
                os.kill(holder.pid, signal.SIGCONT)
        await _assert_whole(admin, 300)
    finally:
        await admin.close()


async def test_killed_at_any_moment_nothing_is_lost_doubled_or_reordered(
    database_url: str, tmp_path: Path
) -> None:
    """The relay is killed a dozen times, each time further on in its work, under a steady write."""
    admin = await asyncpg.connect(database_url, server_settings={"search_path": "gpuaas"})
    try:
        for turn in range(12):
            written = turn * 125
            with duty_process("relay", database_url, tmp_path) as process:
                await _holder(admin)
                writing = asyncio.create_task(_write(database_url, 125, first=written))
                async with asyncio.timeout(120):  # no pause between two looks: it is fast
                    while await _numbered(admin) < written + 10 * turn:
                        pass
                process.kill()
            await writing
        with duty_process("relay", database_url, tmp_path):
            await _moved(admin, 1500)
        await _assert_whole(admin, 1500)
    finally:
        await admin.close()


async def _write(url: str, count: int, *, first: int = 0) -> None:
    """Commit events of one instance, each after the other, numbered in their data."""
    conn = await asyncpg.connect(url, server_settings={"search_path": "gpuaas"})
    try:
        for number in range(first, first + count):
            await conn.execute(
                "INSERT INTO outbox (id, type, subject, at, org_id, project_id, app_instance_id,"
                " correlation_id, data) VALUES ($1, 'a.b.c', 'inst_1', now(), $2, $3, 'inst_1',"
                " 'c', jsonb_build_object('n', $4::int))",
                f"evt_{number:06}", PROJECT.org_id, PROJECT.project_id, number,
            )  # fmt: skip
            await conn.execute("SELECT pg_notify('gpuaas', 'outbox')")
    finally:
        await conn.close()


async def _holder(admin: "asyncpg.Connection[asyncpg.Record]") -> int:
    """The process id of whoever holds the relay: each names itself in its session."""

    async def found() -> int | None:
        name: str | None = await admin.fetchval(_HOLDER, duty_lock(RELAY))
        return None if name is None else int(name.rpartition(":")[2])

    return int(await eventually(found, within=120))


async def _moved(admin: "asyncpg.Connection[asyncpg.Record]", count: int) -> None:
    async def enough() -> bool:
        return await _numbered(admin) >= count

    await eventually(enough, within=120)


async def _numbered(admin: "asyncpg.Connection[asyncpg.Record]") -> int:
    return int(await admin.fetchval("SELECT seq FROM event_head"))


async def _assert_whole(admin: "asyncpg.Connection[asyncpg.Record]", count: int) -> None:
    rows = await admin.fetch("SELECT seq, id, (data ->> 'n')::int AS n FROM events ORDER BY seq")
    assert [row["seq"] for row in rows] == list(range(1, count + 1))
    assert [row["n"] for row in rows] == list(range(count))
    assert await admin.fetchval("SELECT count(*) FROM outbox") == 0
