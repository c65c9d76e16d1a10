"""Usage is written down exactly once: killed, repeated, by several replicas, in any order told."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count, pairwise
from pathlib import Path

import asyncpg
import pytest
from billing_fixtures import T0, Fact, Ledger, instance, machine, priced
from duty_process import duty_process
from eventually import eventually
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from gpuaas_contract.billing import UsageBasis
from gpuaas_contract.manifest import UsageSource
from gpuaas_platform.billing import recording, store
from gpuaas_platform.billing.metering import Meter, Price, Subject, Turn

_NOW = "SELECT seq FROM usage_watermark"


class Killed(Exception):
    """Stands for the end of the process."""


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


async def test_what_ran_and_what_was_held_is_written_down(ledger: Ledger) -> None:
    await ledger.tell(
        [
            priced("small", 0, "0.5"),
            priced("large", 0, "21.4", gpus=8),
            machine("alloc_a", 10.7, "active"),
            machine("alloc_b", 11, "provisioning", "large"),
            machine("alloc_b", 20, "active", "large"),
            instance("inst_1", 30, "running"),
            instance("inst_1", 40, "degraded"),
            instance("inst_1", 90.2, "stopping"),
            machine("alloc_a", 3610.9, "released"),
        ]
    )
    await ledger.record()
    found = [
        (
            r["subject_id"],
            r["unit"],
            r["count"],
            r["price_per_hour"],
            r["started_at"],
            r["ended_at"],
        )
        for r in await ledger.records()
    ]
    assert found == [
        ("alloc_a", "node_hour", 1, Decimal("0.5"), at(10), at(3610)),
        ("alloc_b", "gpu_hour", 8, None, at(20), None),
        ("alloc_b", "node_hour", 1, Decimal("21.4"), at(20), None),
        ("inst_1", "runtime_hour", 1, None, at(30), at(90)),
    ]
    first = (await ledger.records())[0]
    assert first["began_correlation_id"] == "cor-active-10.7"
    assert first["ended_correlation_id"] == "cor-released-3610.9"


async def test_killed_in_the_middle_of_its_transaction_nothing_counts_twice(
    ledger: Ledger, database_url: str, tmp_path: Path
) -> None:
    """A real process, held up by a lock before it can write, killed there; the next goes on."""
    await ledger.tell([priced("small", 0, "0.5"), machine("alloc_a", 10, "active")])
    blocker = await asyncpg.connect(database_url, server_settings={"search_path": "gpuaas"})
    try:
        async with blocker.transaction():
            await blocker.execute("LOCK TABLE usage_records IN SHARE MODE")
            with duty_process("billing", database_url, tmp_path):
                sql = (
                    "SELECT count(*) FROM pg_locks WHERE NOT granted"
                    " AND relation = 'usage_records'::regclass"
                )

                async def waits() -> bool:
                    return int(await ledger.admin.fetchval(sql)) == 1

                await eventually(waits, within=120)
    finally:
        await blocker.close()
    assert (await ledger.admin.fetchval(_NOW), await ledger.records()) == (0, [])
    await ledger.tell([machine("alloc_a", 70, "released")])
    with duty_process("billing", database_url, tmp_path):

        async def done() -> bool:
            return int(await ledger.admin.fetchval(_NOW)) == 3

        await eventually(done, within=120)
    [record] = await ledger.records()
    assert (record["started_at"], record["ended_at"]) == (at(10), at(70))
    assert len(await ledger.admin.fetch("SELECT FROM usage_prices")) == 1


async def test_replicas_that_read_at_once_count_once(ledger: Ledger) -> None:
    facts = [priced("small", 0, "0.5")]
    for number in range(300):
        facts += [machine(f"alloc_{number}", number, "active")]
        facts += [machine(f"alloc_{number}", number + 60, "released")]
    await ledger.tell(facts)
    while await ledger.admin.fetchval(_NOW) < len(facts):
        await asyncio.gather(*(ledger.record() for _ in range(4)))
    records = await ledger.records()
    assert len(records) == 300
    assert {one["ended_at"] - one["started_at"] for one in records} == {timedelta(seconds=60)}


async def test_events_swept_unread_are_made_up_for_and_said_to_be(ledger: Ledger) -> None:
    """What the states show now holds; what is not known is not counted."""
    await ledger.tell([priced("small", 0, "0.5"), machine("alloc_gone", 10, "active")])
    await ledger.record()
    seen = await ledger.admin.fetchval("SELECT at FROM usage_watermark")
    await ledger.tell([machine("alloc_gone", 20, "released"), machine("alloc_x", 30, "active")])
    await ledger.admin.execute("DELETE FROM events WHERE seq <= 4")
    await ledger.record()
    [gone] = await ledger.records()
    assert gone["subject_id"] == "alloc_gone"
    assert gone["ended_at"] == seen.replace(microsecond=0), "as far as it was seen"
    assert gone["basis"] == UsageBasis.RECONSTRUCTED
    assert await ledger.admin.fetchval("SELECT gap_since FROM usage_watermark") is None


NAMES = st.sampled_from(["alloc_a", "alloc_b", "inst_1"])
STATES = {
    "alloc_a": ["active", "releasing", "cleanup_blocked", "released"],
    "alloc_b": ["active", "releasing", "cleanup_blocked", "released"],
    "inst_1": ["deploying", "running", "degraded", "stopping", "failed"],
}
MOMENTS = st.integers(0, 4_000_000).map(lambda tenths: tenths / 10)
TURNS = NAMES.flatmap(lambda name: st.tuples(st.just(name), MOMENTS, st.sampled_from(STATES[name])))
PRICES = st.tuples(st.just("small"), MOMENTS, st.integers(0, 9).map(lambda n: f"{n}.25"))
# Told backwards, a stretch lasts no second, and what follows is told before it.
BACKWARDS = [
    ("alloc_a", 100.0, "active"),
    ("alloc_a", 50.0, "released"),
    ("alloc_a", 60.0, "active"),
]
STORIES = st.lists(st.one_of(TURNS, TURNS, PRICES), min_size=1, max_size=30)


def facts_of(story: Sequence[tuple[str, float, str]]) -> list[Fact]:
    facts = [priced("small", 0, "1", gpus=2)]
    for name, moment, word in story:
        if name == "small":
            facts.append(priced(name, moment, word, gpus=2))
        elif name == "inst_1":
            facts.append(instance(name, moment, word))
        else:
            facts.append(machine(name, moment, word))
    return facts


@settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=STORIES, window=st.integers(1, 12), deaths=st.sets(st.integers(0, 20), max_size=4))
@example(story=BACKWARDS, window=1, deaths=set())
async def test_any_story_tiles_and_sums_however_often_its_reader_dies(
    ledger: Ledger, story: list[tuple[str, float, str]], window: int, deaths: set[int]
) -> None:
    """In PostgreSQL as in the pure meter: any states and prices, told at any times, read in any
    portions, the reader dying at any of them."""
    await ledger.clear()
    facts = facts_of(story)
    await ledger.tell(facts)
    moves = count()
    real = store.watermark_move

    async def dying(conn: object, *rest: object) -> None:
        await real(conn, *rest)  # type: ignore[arg-type]  # handed on as they came
        if next(moves) in deaths:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "_WINDOW", window)
        patch.setattr(store, "watermark_move", dying)
        while await ledger.admin.fetchval(_NOW) < len(facts):
            try:
                await ledger.record()
            except Killed:
                continue
    records = await ledger.records()
    assert {_told(one) for one in records} == {_kept(one) for one in _metered(facts)}
    for before, after in pairwise(records):
        if (before["subject_id"], before["unit"]) == (after["subject_id"], after["unit"]):
            assert before["ended_at"] is not None
            assert before["ended_at"] <= after["started_at"]


def _metered(facts: Sequence[Fact]) -> list[object]:
    numbers = count()
    meter = Meter([], {}, [], lambda: str(next(numbers)))
    for seq, fact in enumerate(facts, 1):
        moment = at(fact.at)
        if fact.type.startswith("capacity.sku"):
            amount = Decimal(fact.data["price_per_hour"])
            meter.take(Price("small", seq, moment, amount, "EUR", 2, fact.correlation_id))
            continue
        app = fact.subject == "inst_1"
        source = UsageSource.APP_RUNTIME if app else UsageSource.ALLOCATION
        name = fact.subject.removeprefix("alloc_")
        sku = None if app else "small"
        subject = Subject(source, fact.subject, name, "org_1", "proj_1", sku)
        counted = fact.type.rpartition(".")[2] in {"active", "running", "degraded"}
        meter.take(Turn(fact.subject, moment, fact.correlation_id, subject if counted else None))
    return list(meter.begun.values())


def _told(record: asyncpg.Record) -> tuple[object, ...]:
    return tuple(record[name] for name in _FIELDS)


def _kept(stretch: object) -> tuple[object, ...]:
    return tuple(getattr(stretch, name) for name in _FIELDS)


_FIELDS = (
    *("subject_id", "subject_name", "source", "unit", "count", "org_id", "project_id", "sku"),
    *("price_per_hour", "currency", "pricing", "basis", "started_at", "ended_at"),
    *("began_correlation_id", "ended_correlation_id"),
)
