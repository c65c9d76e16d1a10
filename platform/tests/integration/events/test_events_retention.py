"""What grows is swept in small batches; the audit is kept."""

import asyncio

from eventually import eventually
from journal_fixtures import Hands, happen, numbered

from gpuaas_platform.events import retention
from gpuaas_platform.events.retention import retention_turn
from gpuaas_platform.kernel.call import Platform


async def test_old_rows_go_and_young_ones_stay(platform: Platform, clock: Hands) -> None:
    await happen(platform, count=30)
    await numbered(platform, 30)
    await platform.db.execute(
        "INSERT INTO idempotency (caller, key_hash, request_hash, at)"
        " SELECT 'c', int4send(n), '', '2026-01-01' FROM generate_series(1, 40) AS n"
    )
    for age, left in (
        ({"days": 1}, {"events": 30, "requests": 1, "idempotency": 40}),
        ({"days": 2}, {"events": 30, "requests": 1, "idempotency": 0}),
        ({"days": 12}, {"events": 0, "requests": 1, "idempotency": 0}),
        ({"days": 16}, {"events": 0, "requests": 0, "idempotency": 0}),
    ):
        clock.advance(**age)
        assert await _swept(platform, left) == left
    assert await platform.db.fetchval("SELECT count(*) FROM audit_entries") >= 1


async def test_more_than_a_batch_is_swept_in_batches(platform: Platform, clock: Hands) -> None:
    await platform.db.execute(
        "INSERT INTO events (seq, id, type, subject, at, correlation_id, data)"
        " SELECT n, 'e' || n, 'a.b', 's', '2026-01-01', 'c', '{}'"
        " FROM generate_series(1, $1::int) AS n",
        retention._BATCH * 2 + 7,
    )
    clock.advance(days=20)
    async with asyncio.timeout(60):
        while (await _counts(platform))["events"]:  # the platform's own sweep may have the turn
            await retention_turn(platform)


async def test_one_sweeps_at_a_time(platform: Platform, clock: Hands) -> None:
    await happen(platform, count=3)
    await numbered(platform, 3)
    clock.advance(days=20)
    async with platform.db.transaction() as conn:
        await conn.execute("SELECT pg_advisory_xact_lock($1)", retention._LOCK)
        async with asyncio.timeout(60):
            await retention_turn(platform)
        assert (await _counts(platform))["events"] == 3
    gone = await _counts(platform) | {"events": 0}
    assert (await _swept(platform, gone))["events"] == 0


async def _swept(platform: Platform, wanted: dict[str, int]) -> dict[str, int]:
    """What is left when it was swept; the platform's own sweep may have the turn for a while."""
    counts: dict[str, int] = {}

    async def swept() -> bool:
        await retention_turn(platform)
        counts.update(await _counts(platform))
        return counts == wanted

    await eventually(swept, what=lambda: f"{wanted}, but there is {counts}")
    return counts


async def _counts(platform: Platform) -> dict[str, int]:
    """What is there of the test's own; the platform at work may tell of something meanwhile."""
    tables = {
        "events": "events WHERE correlation_id IN ('cor-test', 'c')",
        "requests": "requests",
        "idempotency": "idempotency",
    }
    return {
        table: int(await platform.db.fetchval(f"SELECT count(*) FROM {rows}"))  # noqa: S608 - fixed names
        for table, rows in tables.items()
    }
