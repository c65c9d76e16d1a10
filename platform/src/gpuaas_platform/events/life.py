"""What the events room runs for the life of a process. Entered by `http/app.py`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from gpuaas_platform.events.bus import bus_running
from gpuaas_platform.events.dispatch import dispatch_running
from gpuaas_platform.events.relay import relay_running
from gpuaas_platform.events.retention import retention_running
from gpuaas_platform.events.stream import hub_running
from gpuaas_platform.kernel.call import Platform

_PARTS = (hub_running, relay_running, dispatch_running, bus_running, retention_running)


@asynccontextmanager
async def events_running(platform: Platform) -> AsyncIterator[None]:
    """The hub, the relay's candidate, webhooks, the bus where configured, and the sweep."""
    async with AsyncExitStack() as stack:
        for running in _PARTS:
            await stack.enter_async_context(running(platform))
        yield
