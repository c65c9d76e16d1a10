"""One claimed operation from its lease to its end.

Load → plan → named steps (`steps.py`) → what is true now. A lost lease ends everything at once and
nothing more is said. Called by `controller.py`.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from gpuaas_contract.controllers import Claimed
from gpuaas_contract.states import StepState
from gpuaas_sdk.app import App, Context, Facts, Ordered, Procedure, Step, Target, steps_of
from gpuaas_sdk.failures import (
    PermanentFailure,
    StepFailure,
    StopRequested,
    TemporaryFailure,
    failure_in,
)
from gpuaas_sdk.runtime.lease import Lease, LeaseLost
from gpuaas_sdk.runtime.reporting import BEGUN, Reporter
from gpuaas_sdk.runtime.steps import HandBack, StepRunner
from gpuaas_sdk.runtime.surroundings import Surroundings


class Outcome(StrEnum):
    """How this replica's part of an operation ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    RELEASED = "released"
    LOST = "lost"


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
        self._steps = StepRunner(around, self._context, self._reporter)

    def close(self) -> None:
        """Hand the lease back at the next safe point."""
        self._steps.closing = True

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
        except HandBack:
            return await self._released()
        except LeaseLost:
            return Outcome.LOST
        except StepFailure as failure:
            return await self._failed(failure)
        except Exception as error:
            self.log.exception("a step failed in a way it does not know")
            text = f"{type(error).__name__}: {error}"
            detail = {"step": self._steps.failed_at} if self._steps.failed_at else {}
            return await self._failed(TemporaryFailure("unexpected_error", text, detail=detail))

    async def _procedure(self) -> Outcome:
        ctx = self._context
        procedure = procedure_of(self._around.app, ctx.operation.kind)
        if ctx.cancellation.requested:
            raise StopRequested
        steps = await procedure.load(ctx)
        self._reporter.plan(steps_of(steps))
        if not _begins_at_once(steps):
            await self._reporter.flush()
        await self._steps.run(steps)
        ctx.machines.doing("finish")
        facts = Facts() if procedure.finish is None else await procedure.finish(ctx)
        await self._reporter.complete(facts)
        return Outcome.SUCCEEDED

    async def _stop(self) -> Outcome:
        """Take back what was begun and can be taken back, the last first."""
        try:
            procedure = procedure_of(self._around.app, self._context.operation.kind)
            undone = await self._undo(steps_of(await procedure.load(self._context)))
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


def _begins_at_once(steps: Ordered) -> bool:
    """Whether the first step looks at nothing before it is announced, and the plan with it."""
    first = steps[0] if steps else None
    return isinstance(first, Step) and type(first).check is Step.check


async def _ended(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:  # all are told before any is waited for: this may be cancelled itself
        task.cancel()
    await asyncio.wait(tasks)
