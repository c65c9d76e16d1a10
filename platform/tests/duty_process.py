"""A process that does one part of the platform's background work and nothing else.

Started and killed by tests: `duty_process(...)` from a test, or as a program by it.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path

from gpuaas_platform.audit.chain import chain_running
from gpuaas_platform.billing.recording import billing_life
from gpuaas_platform.events.life import events_running
from gpuaas_platform.events.relay import relay_running
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import SYSTEM, Caller
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.database import Database
from gpuaas_platform.kernel.limits import RateLimiter
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.signals import Signals

PARTS = {
    "billing": billing_life,
    "chain": chain_running,
    "events": events_running,
    "relay": relay_running,
}


@contextmanager
def duty_process(part: str, url: str, data_dir: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """The process for the length of a block; whatever happens, nothing of it is left."""
    process = subprocess.Popen([sys.executable, __file__, part, url, str(data_dir)])
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


async def work_for_ever(part: str, url: str, data_dir: str) -> None:
    networks = (IPv4Network("127.0.0.0/8"),)
    settings = Settings(data_dir=Path(data_dir), webhook_allowed_networks=networks)
    platform = Platform(
        settings, Database(url, size=4), Clock(), Signals(url), RateLimiter(1, 1), _nobody_calls
    )
    await platform.db.open()
    platform.signals.start()
    async with PARTS[part](platform):
        await asyncio.Event().wait()


async def _nobody_calls(*_: object) -> Caller:
    return SYSTEM


if __name__ == "__main__":
    asyncio.run(work_for_ever(*sys.argv[1:]))
