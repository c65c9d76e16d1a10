"""The sweep: events, requests, stored answers and deliveries go after a while; the audit stays.

A loop of every process; small batches, each a transaction of its own, and one sweeper at a time.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final

from gpuaas_platform.events.store import sequence, webhooks
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.elections import duty_lock
from gpuaas_platform.kernel.loops import Loop, loop_running

_EVERY_SECONDS: Final = 60.0
_BATCH: Final = 1000
_BATCHES: Final = 50
_DELIVERIES_KEPT: Final = 1000
_LOCK: Final = duty_lock("retention")


@asynccontextmanager
async def retention_running(platform: Platform) -> AsyncIterator[None]:
    """Sweep now and then, for as long as the block runs."""
    turn = partial(retention_turn, platform)
    loop = Loop("retention", turn, every=_EVERY_SECONDS, topic="retention")
    async with loop_running(platform.signals, loop):
        yield


async def retention_turn(platform: Platform) -> None:
    """Sweep until nothing is old any more, or until it is enough for this turn."""
    for _ in range(_BATCHES):
        if not await _sweep(platform):
            return


async def _sweep(platform: Platform) -> bool:
    """One batch of each kind; whether there may be more. Nothing while another process sweeps."""
    settings, now = platform.settings, platform.clock.now()
    kept = {
        "events": timedelta(days=settings.event_retention_days),
        "requests": timedelta(days=settings.request_retention_days),
        "idempotency": timedelta(hours=settings.idempotency_retention_hours),
    }
    async with platform.db.transaction() as conn:
        if not await sequence.sweep_begin(conn, _LOCK):
            return False
        swept = [
            await sequence.retention_sweep(conn, table, now - age, _BATCH)
            for table, age in kept.items()
        ]
        before = now - timedelta(days=settings.delivery_retention_days)
        swept.append(await webhooks.deliveries_sweep(conn, before, _DELIVERIES_KEPT, _BATCH))
    return max(swept) >= _BATCH
