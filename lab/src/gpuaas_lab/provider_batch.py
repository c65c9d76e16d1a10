"""Orders that come at the same moment, done by one process; each is answered as soon as it is done.

Used by `provider.py`. A process costs far more than what it says to a machine: when every machine
has to hear the same news, one process tells them all. A machine that does not answer keeps nobody
else waiting for their answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from gpuaas_lab.errors import LabError

_GATHER_SECONDS = 0.03
_LINE_LONGEST = 1 << 20

Answered = Callable[[Mapping[str, Any]], Exception | None]
"""What went wrong, by what the process said of an order; None: nothing."""


class Batches:
    """Has orders done by processes that end when they are done."""

    def __init__(self, what: str, answered: Answered) -> None:
        self._what = what
        self._answered = answered
        self._waiting: list[tuple[Mapping[str, Any], asyncio.Future[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def done(self, order: Mapping[str, Any]) -> None:
        """Have one order done, together with those that come at the same moment."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((order, future))
        if len(self._waiting) == 1:
            task = asyncio.create_task(self._batch())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await future

    async def _batch(self) -> None:
        await asyncio.sleep(_GATHER_SECONDS)
        batch, self._waiting = self._waiting, []
        futures = [future for _, future in batch]
        try:
            await self._process(json.dumps([order for order, _ in batch]).encode(), futures)
        except Exception as error:  # noqa: BLE001 - whoever waits is told, whatever it was
            _refuse(futures, LabError(f"the lab's process failed: {error}"))
        finally:
            _refuse(futures, LabError("the lab's process ended and said nothing"))

    async def _process(self, given: bytes, futures: list[asyncio.Future[None]]) -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gpuaas_lab.provider", self._what),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LINE_LONGEST,
            start_new_session=True,
        )
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a process without the pipes it was given")
        try:
            process.stdin.write(given)
            await process.stdin.drain()
            process.stdin.close()
            async for line in process.stdout:
                said = json.loads(line)
                _answer(futures[said["order"]], self._answered(said))
            await process.wait()
        except BaseException:
            if process.returncode is None:
                process.terminate()
                await process.wait()
            raise


def _answer(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():
        return  # whoever asked waits no longer
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _refuse(futures: list[asyncio.Future[None]], error: LabError) -> None:
    for future in futures:
        _answer(future, error)
