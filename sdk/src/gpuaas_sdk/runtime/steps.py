"""Runs the steps of one attempt: one after the other, and at once where the app says so.

Each step: `check`, say that it begins, `do`, `verify`, within its deadline. Used by `work.py`,
which knows what an attempt's end means.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from gpuaas_contract.states import StepState
from gpuaas_sdk.app import Context, Ordered, Step, Together
from gpuaas_sdk.failures import StopRequested, TemporaryFailure, failure_in
from gpuaas_sdk.runtime.lease import LeaseLost
from gpuaas_sdk.runtime.reporting import BEGUN, Reporter
from gpuaas_sdk.runtime.surroundings import Surroundings
from gpuaas_sdk.telemetry import Scene, Span, span_begin


class HandBack(Exception):
    """The controller shuts down and this is a safe point."""


class StepRunner:
    """The steps of one attempt. With `closing` set it stops at the next safe point."""

    def __init__(self, around: Surroundings, context: Context, reporter: Reporter) -> None:
        self.closing = False
        self.failed_at = ""
        """The step that failed last; a failure says itself where, what nobody expected cannot."""
        self._around = around
        self._context = context
        self._reporter = reporter

    async def run(self, ordered: Ordered) -> None:
        """Run them to their end, or raise why not."""
        for one in ordered:
            if isinstance(one, Together):
                await self._together(one)
            else:
                await self._one(one)

    async def _together(self, group: Together) -> None:
        """All branches at once; the first failure lets the others end the step they are at."""
        halted = asyncio.Event()
        tasks = [asyncio.create_task(self._branch(one, halted)) for one in group.branches]
        running = set(tasks)
        try:
            while running and not any(isinstance(one, LeaseLost) for one in _errors(tasks)):
                _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running)
        _judge(tasks)

    async def _branch(self, steps: Sequence[Step], halted: asyncio.Event) -> None:
        try:
            for step in steps:
                if halted.is_set():
                    return
                await self._one(step)
        except BaseException:
            halted.set()
            raise

    def _safe_point(self) -> None:
        self._context.safe_point()
        if self.closing:
            raise HandBack

    async def _one(self, step: Step) -> None:
        self._safe_point()
        seconds = step.deadline_seconds or self._around.step_seconds
        ctx = replace(
            self._context,
            deadline=self._around.now() + timedelta(seconds=seconds),
            said="",
        )
        ctx.machines.doing(step.title)
        limit = asyncio.timeout(seconds)
        began = asyncio.get_running_loop().time()
        try:
            with self._span(step):
                async with limit:
                    await self._do(step, ctx)
        except TimeoutError as error:
            if not limit.expired():
                self._reporter.note(step, StepState.FAILED, "Something did not answer in time.")
                raise
            failure = TemporaryFailure(
                "step_deadline",
                f"The step {step.title} did not end within {seconds:g} s.",
                detail={"step": step.title},
            )
            self._reporter.note(step, StepState.FAILED, failure.message)
            raise failure from error
        except (HandBack, LeaseLost):
            raise
        except Exception as error:
            meant = failure_in(error)
            if isinstance(meant, StopRequested):
                raise meant from error
            said = meant.message if meant is not None else f"{type(error).__name__}: {error}"
            self._reporter.note(step, StepState.FAILED, said)
            self.failed_at = step.title
            if meant is not None:
                meant.detail.setdefault("step", step.title)
            if meant is None or meant is error:
                raise
            raise meant from error
        finally:
            took = asyncio.get_running_loop().time() - began
            labels = {"kind": ctx.operation.kind, "step": step.name}
            self._around.metrics.timing("step_seconds", took, labels)

    def _span(self, step: Step) -> AbstractContextManager[Span]:
        """This run of a step, below the step as the platform knows it: one may be run again."""
        operation = self._context.operation
        return span_begin(
            Scene(operation.instance_id, operation.correlation_id, self._around.recorder),
            f"{step.title}, attempt {operation.attempt}",
            f"{operation.id}/{step.title}",
            operation_id=operation.id,
            step=step.title,
        )

    async def _do(self, step: Step, ctx: Context) -> None:
        reporter = self._reporter
        before = reporter.state(step.title)
        if await step.check(ctx):
            if before in BEGUN:
                reporter.note(step, StepState.SUCCEEDED, ctx.said)
            else:
                reporter.note(step, StepState.SKIPPED, ctx.said or "It was so already.")
            return
        reporter.note(step, StepState.RUNNING)
        await reporter.flush()
        if ctx.cancellation.requested or self.closing:
            reporter.note(step, before)  # it was announced, and nothing was done
            self._safe_point()
        ctx.log.info("step %s begins%s", step.title, _whose(ctx), extra={"step": step.title})
        ctx.teller = partial(self._tell, step)
        await step.do(ctx)
        ctx.teller = None
        if not await step.verify(ctx):
            raise TemporaryFailure(
                "step_unverified", f"The step {step.title} ran, but its effect is not there."
            )
        reporter.note(step, StepState.SUCCEEDED, ctx.said)

    async def _tell(self, step: Step, message: str) -> None:
        """What a step that goes on says; the same again is not said."""
        self._reporter.note(step, StepState.RUNNING, message)
        await self._reporter.flush()


def _whose(ctx: Context) -> str:
    """The member an operation is about, as a log names it; nothing where it is about all."""
    member_id = ctx.operation.member_id or ctx.operation.new_member_id
    if member_id is None:
        return ""
    known = (one.component_key for one in ctx.target.members if one.id == member_id)
    return f" for {next(known, 'member')} {member_id}"


def _errors(tasks: "Sequence[asyncio.Task[Any]]") -> list[BaseException]:
    ended = [task for task in tasks if task.done() and not task.cancelled()]
    return [error for error in (task.exception() for task in ended) if error is not None]


def _judge(tasks: "Sequence[asyncio.Task[Any]]") -> None:
    """Raise what branches ended by: a lost lease before a failure, that before a stop."""
    errors = _errors(tasks)
    lost = [one for one in errors if isinstance(one, LeaseLost)]
    failed = [one for one in errors if not isinstance(one, StopRequested | HandBack)]
    if len(failed) > 1 and not lost:
        group = BaseExceptionGroup("several steps failed", failed)
        raise failure_in(group) or group
    for one in (*lost, *failed, *errors):
        raise one
    if any(task.cancelled() for task in tasks):
        raise asyncio.CancelledError  # a step ended as if it had been cancelled
