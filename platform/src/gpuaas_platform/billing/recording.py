"""Reads the events on by number and writes down the usage that follows. A loop of every replica.

One transaction at a time: lock the number read up to, read a stretch of the sequence, let the meter
decide, write records and the new number. Whoever dies before the commit has changed nothing and
whoever comes next reads the same again; replicas keep apart by that lock. Mutations pay nothing.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Final

import structlog

from gpuaas_contract.billing import UsageBasis
from gpuaas_contract.capacity import Sku
from gpuaas_contract.ids import Prefix
from gpuaas_contract.manifest import UsageSource
from gpuaas_contract.states import AllocationStatus
from gpuaas_platform.apps.service import instances_in
from gpuaas_platform.billing import store
from gpuaas_platform.billing.metering import (
    COUNTED_ALLOCATION,
    COUNTED_INSTANCE,
    Meter,
    Price,
    Subject,
    Turn,
)
from gpuaas_platform.capacity.allocations import allocations_in
from gpuaas_platform.capacity.service import sku_find
from gpuaas_platform.events.reading_on import Reach, Told, events_between, sequence_reach
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.loops import Loop, loop_running

_ALLOCATION: Final = "capacity.allocation."
_SKU: Final = "capacity.sku."
_INSTANCE: Final = "apps.instance."
_KINDS: Final = (_ALLOCATION, _SKU, _INSTANCE)
_WINDOW: Final = 2000
_EVERY_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 1.0  # events of a busy moment are taken together
_log = structlog.get_logger(__name__)


@asynccontextmanager
async def billing_life(platform: Platform) -> AsyncIterator[None]:
    """The room's loop for the life of the process."""
    turn = partial(recording_turn, platform)
    loop = Loop("usage", turn, every=_EVERY_SECONDS, topic="events", pause=_PAUSE_SECONDS)
    async with loop_running(platform.signals, loop):
        yield


async def recording_turn(platform: Platform) -> None:
    """Read on until nothing new was told, or another replica is at it."""
    while await _window(platform):
        pass


async def _window(platform: Platform) -> bool:
    """One stretch of the sequence; whether there may be more."""
    async with platform.db.connection() as conn:  # nearly always there is nothing: ask cheaply
        known, reach = await store.watermark_read(conn), await sequence_reach(conn)
    if known["seq"] >= reach.head and known["gap_since"] is None:
        return False
    async with platform.db.transaction() as conn:
        mark = await store.watermark_lock(conn)
        if mark is None:
            return False
        now = platform.clock.now()
        return await _window_record(platform, conn, mark, now)


async def _window_record(platform: Platform, conn: Connection, mark: Record, now: datetime) -> bool:
    reach = await sequence_reach(conn)
    after, gap = _continued(mark, reach)
    up_to = min(reach.head, after + _WINDOW)
    told = await events_between(conn, after, up_to, _KINDS)
    changes = [one for event in told if (one := await _change(conn, event)) is not None]
    meter = await _meter(platform, conn, changes)
    for change in changes:
        meter.take(change)
        if isinstance(change, Price):
            await store.price_insert(conn, change)
    caught_up = up_to >= reach.head
    await _write(conn, meter)
    if caught_up and gap is not None:
        await _states_meet(platform, conn, Silence(gap, now))
        gap = None
    seen = now if caught_up and not reach.waiting else mark["at"]
    await store.watermark_move(conn, up_to, seen, gap)
    return not caught_up


def _continued(mark: Record, reach: Reach) -> tuple[int, datetime | None]:
    """Where to read on, and since when something is missing, if it is."""
    if mark["seq"] + 1 >= reach.first_kept:
        return mark["seq"], mark["gap_since"]
    _log.warning("usage_gap", after=mark["seq"], first_kept=reach.first_kept)
    return reach.first_kept - 1, mark["gap_since"] or mark["at"]


async def _change(conn: Connection, event: Told) -> Turn | Price | None:
    """What an event means for usage; None where it means nothing."""
    if event.type.startswith(_SKU):
        return await _price(conn, event)
    if event.org_id is None:
        return None
    if event.type.startswith(_ALLOCATION):
        counted = event.type.removeprefix(_ALLOCATION) in COUNTED_ALLOCATION
        source, name, sku = UsageSource.ALLOCATION, event.data.get("name"), event.data.get("sku")
    else:
        counted = event.data.get("status") in COUNTED_INSTANCE
        source, name, sku = UsageSource.APP_RUNTIME, event.data.get("resource_name"), None
    if counted and source is UsageSource.ALLOCATION and sku is None:
        return None
    begins = None
    if counted:
        # Owners are projects until tenants share runtimes: then theirs have no project.
        begins = Subject(
            source, event.subject, name or event.subject, event.org_id, event.project_id, sku
        )
    return Turn(event.subject, event.at, event.correlation_id, begins)


async def _price(conn: Connection, event: Told) -> Price | None:
    """The price an event told; one of the release before did not say it."""
    data = event.data
    if "price_per_hour" not in data:
        sku = await sku_find(conn, str(data.get("name")))
        return None if sku is None else _price_of(sku, event.seq, event.at)
    return Price(
        data["name"], event.seq, event.at, Decimal(data["price_per_hour"]), data["currency"],
        data["gpus"], event.correlation_id,
    )  # fmt: skip


def _price_of(sku: Sku, seq: int, since: datetime) -> Price:
    return Price(sku.name, seq, since, sku.price_per_hour, sku.currency, sku.gpus, "")


async def _meter(platform: Platform, conn: Connection, changes: Sequence[Turn | Price]) -> Meter:
    """A meter that knows what these changes touch."""
    subjects = {one.subject_id for one in changes if isinstance(one, Turn)}
    repriced = {one.sku for one in changes if isinstance(one, Price)}
    going_on = await store.stretches_open(conn, list(subjects), list(repriced))
    subjects |= {one.subject_id for one in going_on}
    prices = {price.sku: price for price in await store.prices_in_force(conn)}
    for name in _unpriced(changes, set(prices)):
        sku = await sku_find(conn, name)
        if sku is None:
            _log.warning("usage_unpriced", sku=name)
            continue
        prices[name] = _price_of(sku, 0, sku.created_at)
        await store.price_insert(conn, prices[name])
    ends = await store.last_ends(conn, list(subjects))
    return Meter(going_on, ends, prices.values(), partial(platform.clock.new_id, Prefix.USAGE))


def _unpriced(changes: Sequence[Turn | Price], known: set[str]) -> list[str]:
    """Kinds of machines that are begun before their price was told: its event was swept."""
    missing = []
    for change in changes:
        said = change if isinstance(change, Price) else change.begins
        sku = None if said is None else said.sku
        if sku is None or sku in known:
            continue
        known.add(sku)
        if isinstance(change, Turn):
            missing.append(sku)
    return missing


async def _write(conn: Connection, meter: Meter) -> None:
    begun, ended = list(meter.begun.values()), list(meter.ended.values())
    await store.stretches_write(conn, begun, ended, meter.undone)


@dataclass(frozen=True)
class Silence:
    """A time of which events are missing."""

    since: datetime
    until: datetime


async def _states_meet(platform: Platform, conn: Connection, silence: Silence) -> None:
    """Events were swept before they were read: what the states say holds, as far as it is known.

    What does not count any more is counted up to where events are missing, what counts and was not
    begun from now on. Neither is said to have been observed.
    """
    active = await allocations_in(conn, AllocationStatus.ACTIVE)
    running = await instances_in(conn, COUNTED_INSTANCE)
    counted = [
        Turn(one.id, silence.until, one.correlation_id, Subject(
            UsageSource.ALLOCATION, one.id, one.name, one.org_id, one.project_id, one.sku
        ), UsageBasis.RECONSTRUCTED)
        for one in active
    ] + [
        Turn(one.id, silence.until, one.correlation_id, Subject(
            UsageSource.APP_RUNTIME, one.id, one.resource_name, one.org_id, one.project_id
        ), UsageBasis.RECONSTRUCTED)
        for one in running
    ]  # fmt: skip
    still = {turn.subject_id for turn in counted}
    over = {one.subject_id for one in await store.stretches_all_open(conn)} - still
    ended = [Turn(one, silence.since, "", None, UsageBasis.RECONSTRUCTED) for one in sorted(over)]
    meter = await _meter(platform, conn, [*ended, *counted])
    for turn in (*ended, *counted):
        meter.take(turn)
    await _write(conn, meter)
