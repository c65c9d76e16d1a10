"""A controller: one replica of an app's worker, from start to shutdown.

`run()` claims as much as there are free slots, works on each operation in a task of its own and
looks at instances on schedule. `stop()` ends it in good order: leases are handed back. Being
cancelled is a crash: nothing more is said, leases lapse, another replica goes on.
"""

import asyncio
import logging
import os
import random
import socket
from dataclasses import dataclass, field
from typing import Any

from gpuaas_contract.controllers import MAX_CLAIM, Claim, Claimed, ControllerSelf
from gpuaas_sdk.app import App
from gpuaas_sdk.client import Client
from gpuaas_sdk.errors import AuthenticationError, GpuaasError, PermissionDeniedError
from gpuaas_sdk.machines.machines import Machines
from gpuaas_sdk.machines.wire import Access
from gpuaas_sdk.runtime.calls import Calls
from gpuaas_sdk.runtime.surroundings import Surroundings
from gpuaas_sdk.runtime.telling import Telling
from gpuaas_sdk.runtime.watch import Schedule, Watch
from gpuaas_sdk.runtime.work import OperationWork, Outcome
from gpuaas_sdk.state import MemoryState, StateStore
from gpuaas_sdk.telemetry import Log, Metrics, NoMetrics

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


def replica_name() -> str:
    """Host and process: unlike that of every other replica."""
    return f"{socket.gethostname()}-{os.getpid()}"[:128]


@dataclass(frozen=True)
class Options:
    """How a controller works. The defaults suit a small deployment.

    `step_seconds` bounds a step that names no deadline; `grace_seconds` is how long a shutdown
    waits for steps to end; `access` is how machines are reached, by certificate if nothing is said.
    """

    replica: str = field(default_factory=replica_name)
    slots: int = 10
    lease_seconds: int = 60
    wait_seconds: float = 20.0
    step_seconds: float = 3600.0
    grace_seconds: float = 30.0
    project_id: str | None = None
    instance_id: str | None = None
    observe: Schedule | None = field(default_factory=Schedule)
    access: Access | None = None


class Controller:
    """One replica."""

    def __init__(
        self,
        app: App[Any],
        client: Client,
        options: Options | None = None,
        *,
        state: StateStore | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.options = options or Options()
        calls, log = Calls(client), logging.getLogger("gpuaas_sdk.controller")
        self._telling = Telling(calls, self.options.replica)
        self._me = ControllerSelf(replica=self.options.replica, version=app.version)
        self._around = Surroundings(
            app=app,
            calls=calls,
            state=state or MemoryState(),
            machines=Machines(client, self.options.access),
            log=Log(log, {"app": app.slug, "replica": self.options.replica}),
            metrics=metrics or NoMetrics(),
            lease_seconds=self.options.lease_seconds,
            step_seconds=self.options.step_seconds,
            recorder=self._telling,
        )
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._freed = asyncio.Event()
        self._works: dict[asyncio.Task[None], OperationWork] = {}
        self._watch: Watch | None = None

    def stop(self) -> None:
        """Shut down in good order: claim nothing more, hand leases back at safe points."""
        self._stopping.set()
        for work in self._works.values():
            work.close()

    def wake(self) -> None:
        """Look at instances now instead of at the next turn: an event said that it is worth it."""
        if self._watch is not None:
            self._watch.wake()

    async def run(self) -> None:
        """Work until `stop()` is called."""
        logger = self._around.log.logger
        logger.addHandler(self._telling.handler)
        try:
            await self._work()
        finally:
            logger.removeHandler(self._telling.handler)

    async def _work(self) -> None:
        helpers = {
            asyncio.create_task(self._claims()),
            asyncio.create_task(self._telling.run()),
        }
        if self.options.observe is not None:
            given = self.options
            self._watch = Watch(
                self._around, self._me, self.options.observe, given.project_id, given.instance_id
            )
            helpers.add(asyncio.create_task(self._watch.run()))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait({stopping, *helpers}, return_when=asyncio.FIRST_COMPLETED)
            for task in done & helpers:
                task.result()  # a helper ends by an error alone
            await _cancelled(helpers)
            await self._finish()
        finally:
            await _cancelled({stopping, *helpers, *self._works})
            await self._around.machines.close()

    async def _finish(self) -> None:
        self._around.log.info("shutting down", extra={"operations": len(self._works)})
        for work in self._works.values():
            work.close()
        if self._watch is not None:
            await self._watch.hand_back()
        if self._works:
            await asyncio.wait(self._works, timeout=self.options.grace_seconds)
        self._hurry.set()
        if self._works:
            await asyncio.wait(self._works, timeout=self.options.grace_seconds)
        await self._telling.rest()

    async def _claims(self) -> None:
        failures, ever = 0, False
        while not self._stopping.is_set():
            free = self.options.slots - len(self._works)
            if free <= 0:
                self._freed.clear()
                await self._freed.wait()
                continue
            try:
                claimed = await self._around.calls.claim(self._claim(free))
            except (AuthenticationError, PermissionDeniedError):
                if not ever:
                    raise  # it never worked: whoever started it must know now
                self._around.log.exception("the platform does not let this controller work")
                failures += 1
            except GpuaasError as error:
                self._around.log.warning("nothing could be claimed: %s", error)
                failures += 1
            else:
                failures, ever = 0, True
                for one in claimed:
                    self._begin(one)
            if failures:
                await asyncio.sleep(_pause(failures))

    def _claim(self, free: int) -> Claim:
        given = self.options
        return Claim(
            app_slug=self._around.app.slug,
            controller=self._me,
            project_id=given.project_id,
            instance_id=given.instance_id,
            capacity=min(free, MAX_CLAIM),
            lease_seconds=given.lease_seconds,
            wait_seconds=given.wait_seconds,
        )

    def _begin(self, claimed: Claimed) -> None:
        work = OperationWork(self._around, claimed)
        if self._stopping.is_set():
            work.close()  # granted while this replica was told to end: it is another's
        operation = claimed.operation
        work.log.info("claimed %s, attempt %d", operation.kind, operation.attempt)
        self._around.metrics.count("operations_claimed", {"kind": operation.kind})
        task = asyncio.create_task(self._one(work, operation.kind))
        self._works[task] = work
        if self._watch is not None:
            self._watch.taken(work.instance_id)
        task.add_done_callback(self._ended)

    async def _one(self, work: OperationWork, kind: str) -> None:
        began = asyncio.get_running_loop().time()
        outcome = Outcome.LOST
        try:
            outcome = await work.run(self._hurry)
        except Exception:
            work.log.exception("the runtime failed; the lease will lapse")
        took = asyncio.get_running_loop().time() - began
        told = {"outcome": outcome, "seconds": round(took, 3)}
        work.log.info("%s ended: %s", kind, outcome, extra=told)
        self._around.metrics.timing("operation_seconds", took, {"kind": kind, "outcome": outcome})

    def _ended(self, task: asyncio.Task[None]) -> None:
        ended = self._works.pop(task, None)
        self._freed.set()
        busy = {one.instance_id for one in self._works.values()}
        if self._watch is not None and ended is not None and ended.instance_id not in busy:
            self._watch.freed(ended.instance_id)


def _pause(failures: int) -> float:
    ceiling = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures, 10))
    return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


async def _cancelled(tasks: "set[asyncio.Task[Any]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
