"""The relay: one process at a time moves events from the outbox to their numbered place.

Elected (`kernel/elections.py`); its step is one statement of the database, so it can be killed at
any moment: an event is either still in the outbox or numbered, never both and never neither.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from gpuaas_platform.events.store import sequence
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.elections import Duty, duty_running

RELAY: Final = "relay"
_BATCH: Final = 500


@asynccontextmanager
async def relay_running(platform: Platform) -> AsyncIterator[None]:
    """Stand for the relay's election for as long as the block runs."""
    async with duty_running(platform, Duty(RELAY, relay_turn, every=2.0, topic="outbox")):
        yield


async def relay_turn(conn: Connection) -> bool:
    """Number one batch; whether there may be more."""
    return await sequence.outbox_relay(conn, _BATCH) == _BATCH
