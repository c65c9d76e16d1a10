"""Background loops of a process: named, woken by a signal, swept on a schedule, never dead.

A room's life (`http/app.py`) starts them. A turn that fails is logged and tried again with a
growing delay; the loop itself ends only with the process.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import structlog

from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.signals import Signals
from gpuaas_platform.kernel.telemetry import LOOP_FAILURES

_log = structlog.get_logger(__name__)
_MAX_DELAY = 30.0
_PAUSE_AT_END = 0.2


@dataclass(frozen=True)
class Loop:
    """What to do, how often at least, and which topic wakes it earlier.

    `pause` is the least time between turns: what comes meanwhile is done together.
    """

    name: str
    turn: Callable[[], Awaitable[None]]
    every: float
    topic: str
    pause: float = 0.0


@contextlib.asynccontextmanager
async def loop_running(signals: Signals, loop: Loop) -> AsyncIterator[None]:
    """Run the loop for as long as the block runs."""
    task = asyncio.create_task(_run(signals, loop), name=loop.name)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _run(signals: Signals, loop: Loop) -> None:
    failures = 0
    while True:
        with signals.expect(loop.topic) as expected:
            try:
                await loop.turn()
                failures = 0
            except PlatformError as error:
                failures += 1
                _log.warning("loop_turn_failed", loop=loop.name, error=error.detail)
            except Exception:  # noqa: BLE001 - a loop outlives whatever one turn meets
                failures += 1
                _log.exception("loop_turn_failed", loop=loop.name)
            if failures:
                LOOP_FAILURES.labels(loop.name).inc()
                await asyncio.sleep(min(0.5 * 2**failures, _MAX_DELAY))
            else:
                await asyncio.sleep(loop.pause)
                await expected.wait(loop.every)
        if signals.finishing:  # nothing waits any more: do not spin until the process ends
            await asyncio.sleep(_PAUSE_AT_END)
