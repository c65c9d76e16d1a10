"""A process that is nothing but a candidate for the relay. Started and killed by tests."""

import asyncio
import sys

from gpuaas_platform.events.relay import relay_running
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make


async def relay_for_ever(url: str) -> None:
    platform = platform_make(Settings(), url)
    platform.signals.start()
    async with relay_running(platform):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(relay_for_ever(sys.argv[1]))
