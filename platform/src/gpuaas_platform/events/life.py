"""What the events room runs for the life of a process. Entered by `http/app.py`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gpuaas_platform.events.relay import relay_running
from gpuaas_platform.events.stream import hub_running
from gpuaas_platform.kernel.call import Platform


@asynccontextmanager
async def events_running(platform: Platform) -> AsyncIterator[None]:
    """The relay's candidate and this process's hub."""
    async with hub_running(platform), relay_running(platform):
        yield
