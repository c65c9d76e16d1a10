"""Generic proofs over any operation of any app: each step twice, failed, killed.

    await prove_operation(make)

`make` builds a fresh stage: the app, an in-memory platform with the operation asked for, and a
fingerprint of what the app changed. The operation is then run many times: in peace; with every
step's `do` run twice; with a failure before and after each step's `do`; and with the controller
killed at three moments of each step, a new one going on. Each time it must succeed and leave the
same fingerprint, and no step that can tell that it is done (`check`) may be done again.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gpuaas_contract.apps import Operation
from gpuaas_contract.states import OperationStatus, StepState
from gpuaas_sdk.app import App, Context, Plan, Step, Target
from gpuaas_sdk.failures import TemporaryFailure
from gpuaas_sdk.machines.wire import Access
from gpuaas_sdk.state import MemoryState, StateStore
from gpuaas_sdk.testing.around import Around, operations_around
from gpuaas_sdk.testing.memory import MemoryPlatform
from gpuaas_sdk.testing.running import controller_running, operation_ended, operation_run

_PATIENCE: Final = 30.0
_LEASE: Final = 61.0
MOMENTS: Final = ("begun", "done", "verified")


@dataclass(frozen=True)
class Stage:
    """A fresh world with one operation asked for and not begun."""

    app: App[Any]
    platform: MemoryPlatform
    operation_id: str
    fingerprint: Callable[[], Awaitable[object]]
    state: StateStore = field(default_factory=MemoryState)
    access: Access | None = None


@dataclass(frozen=True)
class Proven:
    """What was run."""

    steps: tuple[str, ...]
    runs: int


class ProofFailed(AssertionError):
    """A property does not hold."""


async def prove_operation(make: Callable[[], Awaitable[Stage]]) -> Proven:
    """Run the operation in every bad way; raise `ProofFailed` on the first that is not harmless."""
    stage, tally = await make(), _Tally()
    await _once(stage, _wrapped(stage.app, tally))
    _require(stage, "in peace")
    expected = await stage.fingerprint()
    titles = tuple(tally.order)
    runs = 1
    await _judge(await make(), _Tally(twice=True), "each step twice", expected)
    for title in titles:
        for moment in ("begun", "done"):
            fault = _Tally(fail=(title, moment))
            await _judge(await make(), fault, f"failed when {title} was {moment}", expected)
        for moment in MOMENTS:
            await _killed(await make(), (title, moment), expected)
        runs += 2 + len(MOMENTS)
    return Proven(titles, runs + 1)


@dataclass
class _Tally:
    """What happens to steps in one run, and what they did."""

    twice: bool = False
    fail: tuple[str, str] | None = None
    kill: tuple[str, str] | None = None
    done: Counter[str] = field(default_factory=Counter)
    order: list[str] = field(default_factory=list)
    dying: asyncio.Event = field(default_factory=asyncio.Event)

    async def moment(self, title: str, moment: str) -> None:
        """Fail or die here, once, if that is this run's fault."""
        if self.fail == (title, moment):
            self.fail = None
            raise TemporaryFailure("planted", "A failure planted by the proof.", delay=0)
        if self.kill == (title, moment):
            self.kill = None
            self.dying.set()
            await asyncio.Event().wait()


class _Watched(Around):
    """A step with its fault and its tally."""

    def __init__(self, inner: Step, tally: _Tally) -> None:
        super().__init__(inner)
        self._tally = tally

    async def check(self, ctx: Context) -> bool:
        """As the step."""
        if self.title not in self._tally.order:
            self._tally.order.append(self.title)
        return await self.inner.check(ctx)

    async def do(self, ctx: Context) -> None:
        """As the step, with what this run does to it."""
        await self._tally.moment(self.title, "begun")
        await self.inner.do(ctx)
        if self._tally.twice:
            await self.inner.do(ctx)
        if type(self.inner).check is not Step.check:
            self._tally.done[self.title] += 1
        await self._tally.moment(self.title, "done")

    async def verify(self, ctx: Context) -> bool:
        """As the step."""
        verified = await self.inner.verify(ctx)
        await self._tally.moment(self.title, "verified")
        return verified


async def _judge(stage: Stage, tally: _Tally, how: str, expected: object) -> None:
    await _run(stage, _wrapped(stage.app, tally))
    await _same(stage, tally, how, expected)


async def _killed(stage: Stage, kill: tuple[str, str], expected: object) -> None:
    """A controller dies without a word; its lease lapses; another goes on."""
    tally = _Tally(kill=kill)
    app = _wrapped(stage.app, tally)
    async with controller_running(app, stage.platform, stage.state, stage.access):
        ended = asyncio.create_task(operation_ended(stage.platform, stage.operation_id))
        dying = asyncio.create_task(tally.dying.wait())
        async with asyncio.timeout(_PATIENCE):
            await asyncio.wait({ended, dying}, return_when=asyncio.FIRST_COMPLETED)
        for task in (ended, dying):
            task.cancel()
        await asyncio.wait({ended, dying})
    stage.platform.clock.advance(_LEASE)
    await _run(stage, app)
    await _same(stage, tally, f"killed when {kill[0]} was {kill[1]}", expected)


async def _run(stage: Stage, app: App[Any]) -> None:
    """Until the end. An operation that may be tried only once is tried again by a person."""
    ended = await _once(stage, app)
    if ended.status is OperationStatus.FAILED and ended.attempt == ended.max_attempts == 1:
        await stage.platform.retry(stage.operation_id)
        await _once(stage, app)


async def _once(stage: Stage, app: App[Any]) -> Operation:
    return await operation_run(app, stage.platform, stage.operation_id, stage.state, stage.access)


async def _same(stage: Stage, tally: _Tally, how: str, expected: object) -> None:
    _require(stage, how)
    again = [title for title, times in tally.done.items() if times > 1]
    if again:
        raise ProofFailed(f"{how}: the effect of {', '.join(again)} was made twice")
    found = await stage.fingerprint()
    if found != expected:
        raise ProofFailed(f"{how}: it left {found!r} instead of {expected!r}")


def _require(stage: Stage, how: str) -> None:
    operation = stage.platform.operation(stage.operation_id)
    if operation.status is not OperationStatus.SUCCEEDED:
        raise ProofFailed(f"{how}: the operation {operation.status}: {operation.error}")
    open_steps = [s.name for s in operation.progress if s.state is StepState.RUNNING]
    if open_steps:
        raise ProofFailed(f"{how}: steps never ended: {open_steps}")


def _wrapped(app: App[Any], tally: _Tally) -> App[Any]:
    def plan(target: Target, seen: Any, now: Any) -> Plan:  # noqa: ANN401 - the app's own type
        made = app.plan(target, seen, now)
        return replace(made, steps=tuple(_Watched(step, tally) for step in made.steps))

    return replace(operations_around(app, lambda step: _Watched(step, tally)), plan=plan)
