"""A process that does the events room's work and nothing else. Started and killed by tests."""

import asyncio
import sys
from ipaddress import IPv4Network
from pathlib import Path

from gpuaas_platform.events.life import events_running
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make


async def work_for_ever(url: str, data_dir: str) -> None:
    settings = Settings(
        data_dir=Path(data_dir),
        webhook_allowed_networks=(IPv4Network("127.0.0.0/8"),),
    )
    platform = platform_make(settings, url)
    await platform.db.open()
    platform.signals.start()
    async with events_running(platform):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work_for_ever(sys.argv[1], sys.argv[2]))
