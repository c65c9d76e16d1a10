"""The relay: one process at a time moves events from the outbox to their numbered place.

Elected (`kernel/elections.py`); its step is one statement of the database, so it can be killed at
any moment: an event is either still in the outbox or numbered, never both and never neither.
Streams of this process get the numbered events from its hands; all others are told and read them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from gpuaas_platform.events.store import sequence
from gpuaas_platform.events.stream import hub_accept
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.elections import Duty, duty_running

RELAY: Final = "relay"
_BATCH: Final = 500
_PAUSE_SECONDS: Final = 0.005  # an event alone never waits; those of a busy moment go together


@asynccontextmanager
async def relay_running(platform: Platform) -> AsyncIterator[None]:
    """Stand for the relay's election for as long as the block runs."""
    turn = partial(relay_turn, platform)
    duty = Duty(RELAY, turn, every=2.0, topic="outbox", pause=_PAUSE_SECONDS)
    async with duty_running(platform, duty):
        yield


async def relay_turn(platform: Platform, conn: Connection) -> bool:
    """Number one batch and tell whoever waits for it; whether there may be more."""
    rows = await sequence.outbox_relay(conn, _BATCH)
    if rows:
        hub_accept(platform, rows)
        platform.signals.send(("events",))
    return len(rows) == _BATCH
