"""One claimed operation from its lease to its end.

Load → plan → named steps. Each step: `check`, say that it begins, `do`, `verify`. A lost lease
ends everything at once and nothing more is said. Called by `controller.py`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from gpuaas_contract.controllers import Claimed
from gpuaas_contract.states import StepState
from gpuaas_sdk.app import App, Context, Facts, Procedure, Step, Target
from gpuaas_sdk.failures import (
    PermanentFailure,
    StepFailure,
    StopRequested,
    TemporaryFailure,
    failure_in,
)
from gpuaas_sdk.machines.machines import Machines
from gpuaas_sdk.runtime.calls import Calls
from gpuaas_sdk.runtime.lease import Lease, LeaseLost
from gpuaas_sdk.runtime.reporting import BEGUN, Reporter
from gpuaas_sdk.state import StateStore
from gpuaas_sdk.telemetry import Log, Metrics


class Outcome(StrEnum):
    """How this replica's part of an operation ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    RELEASED = "released"
    LOST = "lost"


@dataclass(frozen=True)
class Surroundings:
    """What every operation of one controller shares."""

    app: App[Any]
    calls: Calls
    state: StateStore
    machines: Machines
    log: Log
    metrics: Metrics
    lease_seconds: int
    step_seconds: float
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))


class _HandBack(Exception):
    """The controller shuts down and this is a safe point."""


class OperationWork:
    """The work on one claimed operation."""

    def __init__(self, around: Surroundings, claimed: Claimed) -> None:
        operation = claimed.operation
        self.instance_id = claimed.instance.id
        self.log = around.log.bind(
            correlation_id=operation.correlation_id,
            operation_id=operation.id,
            instance_id=claimed.instance.id,
            kind=operation.kind,
            attempt=operation.attempt,
            fence=claimed.lease.fence,
        )
        self._around = around
        self._closing = False
        self._context = Context(
            target=Target(claimed.instance, tuple(claimed.members)),
            operation=operation,
            state=around.state,
            machines=around.machines.bound(operation.correlation_id),
            log=self.log,
        )
        self._context.cancellation.requested = operation.cancel_requested
        self._lease = Lease(around.calls, claimed, around.lease_seconds, self._context.cancellation)
        self._reporter = Reporter(around.calls, operation, self._lease)
        self._running: Step | None = None
        self._context.teller = self._tell

    def close(self) -> None:
        """Hand the lease back at the next safe point."""
        self._closing = True

    async def run(self, hurry: asyncio.Event) -> Outcome:
        """Work until the end, until the lease is lost, or until there is no more time."""
        work = asyncio.create_task(self._attempt())
        keeper = asyncio.create_task(self._lease.keep(self.log))
        late = asyncio.create_task(hurry.wait())
        try:
            await asyncio.wait({work, keeper, late}, return_when=asyncio.FIRST_COMPLETED)
            if work.done() and not work.cancelled():
                return work.result()
            if work.done():
                text = "A step ended as if it had been cancelled."
                return await self._failed(TemporaryFailure("step_cancelled", text))
            await _ended(work)
            if keeper.done():
                return Outcome.LOST
            return await self._released()
        except LeaseLost:
            return Outcome.LOST
        finally:
            await _ended(work, keeper, late)

    async def _attempt(self) -> Outcome:
        try:
            return await self._procedure()
        except StopRequested:
            return await self._stop()
        except _HandBack:
            return await self._released()
        except LeaseLost:
            return Outcome.LOST
        except StepFailure as failure:
            return await self._failed(failure)
        except Exception as error:
            self.log.exception("a step failed in a way it does not know")
            text = f"{type(error).__name__}: {error}"
            return await self._failed(TemporaryFailure("unexpected_error", text))

    async def _procedure(self) -> Outcome:
        ctx = self._context
        procedure = procedure_of(self._around.app, ctx.operation.kind)
        if ctx.cancellation.requested:
            raise StopRequested
        steps = await procedure.load(ctx)
        self._reporter.plan(steps)
        await self._reporter.flush()
        for step in steps:
            self._safe_point()
            await self._step(step)
        facts = Facts() if procedure.finish is None else await procedure.finish(ctx)
        await self._reporter.complete(facts)
        return Outcome.SUCCEEDED

    def _safe_point(self) -> None:
        self._context.safe_point()
        if self._closing:
            raise _HandBack

    async def _step(self, step: Step) -> None:
        seconds = step.deadline_seconds or self._around.step_seconds
        self._context.deadline = self._around.now() + timedelta(seconds=seconds)
        self._context.said = ""
        self._context.machines.doing(step.title)
        limit = asyncio.timeout(seconds)
        began = asyncio.get_running_loop().time()
        try:
            async with limit:
                await self._step_do(step)
        except TimeoutError as error:
            if not limit.expired():
                self._reporter.note(step, StepState.FAILED, "Something did not answer in time.")
                raise
            failure = TemporaryFailure(
                "step_deadline", f"The step {step.title} did not end within {seconds:g} s."
            )
            self._reporter.note(step, StepState.FAILED, failure.message)
            raise failure from error
        except (_HandBack, LeaseLost):
            raise
        except Exception as error:
            meant = failure_in(error)
            if isinstance(meant, StopRequested):
                raise meant from error
            said = meant.message if meant is not None else f"{type(error).__name__}: {error}"
            self._reporter.note(step, StepState.FAILED, said)
            if meant is None or meant is error:
                raise
            raise meant from error
        finally:
            took = asyncio.get_running_loop().time() - began
            labels = {"kind": self._context.operation.kind, "step": step.name}
            self._around.metrics.timing("step_seconds", took, labels)

    async def _step_do(self, step: Step) -> None:
        ctx, reporter = self._context, self._reporter
        before = reporter.state(step.title)
        if await step.check(ctx):
            if before in BEGUN:
                reporter.note(step, StepState.SUCCEEDED, ctx.said)
            else:
                reporter.note(step, StepState.SKIPPED, ctx.said or "It was so already.")
            return
        reporter.note(step, StepState.RUNNING)
        await reporter.flush()
        if ctx.cancellation.requested or self._closing:
            reporter.note(step, before)  # it was announced, and nothing was done
            self._safe_point()
        self.log.info("step begins", extra={"step": step.title})
        self._running = step
        await step.do(ctx)
        self._running = None
        if not await step.verify(ctx):
            raise TemporaryFailure(
                "step_unverified", f"The step {step.title} ran, but its effect is not there."
            )
        reporter.note(step, StepState.SUCCEEDED, ctx.said)

    async def _tell(self, message: str) -> None:
        """What a step that goes on says; the same again is not said."""
        if self._running is not None:
            self._reporter.note(self._running, StepState.RUNNING, message)
            await self._reporter.flush()

    async def _stop(self) -> Outcome:
        """Take back what was begun and can be taken back, the last first."""
        try:
            undone = await self._undo(
                await procedure_of(self._around.app, self._context.operation.kind).load(
                    self._context
                )
            )
            await self._reporter.stopped(f"Stopped at a safe point; {undone} steps were undone.")
        except LeaseLost:
            return Outcome.LOST
        except Exception as error:
            self.log.exception("undo failed")
            meant = failure_in(error)
            usable = meant.usable if isinstance(meant, StepFailure) else True
            text = f"Stopping failed: {str(error) or type(error).__name__}"
            return await self._failed(PermanentFailure("undo_failed", text, usable=usable))
        return Outcome.STOPPED

    async def _undo(self, steps: Sequence[Step]) -> int:
        undone = 0
        for step in reversed(steps):
            if self._reporter.state(step.title) not in BEGUN or not step.undoable:
                continue
            self._context.machines.doing(f"undo of {step.title}")
            async with asyncio.timeout(step.deadline_seconds or self._around.step_seconds):
                await step.undo(self._context)
            self._reporter.note(step, StepState.UNDONE)
            undone += 1
        return undone

    async def _failed(self, failure: StepFailure) -> Outcome:
        self.log.warning("attempt failed: %s", failure.message, extra={"code": failure.code})
        try:
            await self._reporter.fail(failure)
        except LeaseLost:
            return Outcome.LOST
        except StepFailure:
            self.log.exception("the platform refuses the failure; the lease will lapse")
            return Outcome.LOST
        return Outcome.FAILED

    async def _released(self) -> Outcome:
        try:
            await self._reporter.release()
        except (LeaseLost, StepFailure):
            return Outcome.LOST
        return Outcome.RELEASED


def procedure_of(app: App[Any], kind: str) -> Procedure:
    """How the app does this kind. Reconcile is made from its observer and planner."""
    if kind in app.operations:
        return app.operations[kind]
    if kind != app.reconcile:
        raise PermanentFailure(
            "operation_unknown",
            f"This controller ({app.slug} {app.version}) does not know the operation {kind};"
            " it may be older than the app version.",
        )

    async def steps(ctx: Context) -> Sequence[Step]:
        seen = await app.observe(ctx.look)
        plan = app.plan(ctx.target, seen, datetime.now(UTC))
        if plan.converged:
            ctx.kept["seen"] = seen  # nothing will be changed: it stays true
        return plan.steps

    async def finish(ctx: Context) -> Facts:
        seen = ctx.kept["seen"] if "seen" in ctx.kept else await app.observe(ctx.look)
        return app.health(ctx.target, seen)

    return Procedure(steps, finish)


async def _ended(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:  # all are told before any is waited for: this may be cancelled itself
        task.cancel()
    await asyncio.wait(tasks)
