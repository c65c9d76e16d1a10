"""What one attempt tells the platform, in order, guarded by its lease.

That a step begins is written before the step does anything: whatever may have had an effect is
known to have begun, also after a crash. That a step ended travels with the next thing said, so a
step costs one call. Used by `work.py`.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from gpuaas_contract.apps import Operation
from gpuaas_contract.controllers import (
    Cancellation,
    Completion,
    Failure,
    Release,
    Report,
    StepReport,
)
from gpuaas_contract.states import StepState
from gpuaas_sdk.app import Facts, Step
from gpuaas_sdk.errors import (
    ConflictError,
    NotFoundError,
    ProblemError,
    TemporaryError,
    UnreachableError,
)
from gpuaas_sdk.failures import PermanentFailure, StepFailure, TemporaryFailure
from gpuaas_sdk.runtime.calls import Calls, lease_lost
from gpuaas_sdk.runtime.lease import Lease, LeaseLost

_AGAIN_SECONDS: Final = 1.0
_LONGEST: Final = 2000
_LEFT_OPEN: Final = frozenset({StepState.PENDING, StepState.RUNNING, StepState.FAILED})
BEGUN: Final = frozenset({StepState.RUNNING, StepState.SUCCEEDED, StepState.FAILED})


class Reporter:
    """Says what one attempt does. Every method raises `LeaseLost` when it is no longer ours."""

    def __init__(self, calls: Calls, operation: Operation, lease: Lease) -> None:
        self._calls = calls
        self._operation = operation
        self._lease = lease
        self._states = {step.name: step.state for step in operation.progress}
        self._unsaid: dict[str, StepReport] = {}
        self._turn = asyncio.Lock()

    def state(self, title: str) -> StepState:
        """What is known of a step, from this attempt or one before."""
        return self._states.get(title, StepState.PENDING)

    def plan(self, steps: Sequence[Step]) -> None:
        """The steps of this attempt; what one before left open and is not among them ends."""
        for step in steps:
            if self.state(step.title) is StepState.PENDING:
                self.note(step, StepState.PENDING)
        planned = {step.title for step in steps}
        for title, state in list(self._states.items()):
            if title not in planned and state in _LEFT_OPEN:
                began = "An attempt before began it. " if state in BEGUN else ""
                self._states[title] = StepState.SKIPPED
                self._unsaid[title] = StepReport(
                    name=title,
                    state=StepState.SKIPPED,
                    message=f"{began}There is nothing to do here.",
                )

    def note(self, step: Step, state: StepState, message: str = "") -> None:
        """Remember a step's state; it travels with the next thing said."""
        report = StepReport(
            name=step.title,
            state=state,
            message=message[:_LONGEST],
            deadline_seconds=step.deadline_seconds,
        )
        self._states[step.title] = state
        self._unsaid[step.title] = report

    async def flush(self, facts: Facts | None = None) -> None:
        """Say what is unsaid now, and learn whether to stop.

        Of steps that run beside each other only one speaks at a time; what another has said along
        meanwhile is not said again.
        """
        mine, waited = dict(self._unsaid), self._turn.locked()
        async with self._turn:
            if waited and not any(self._unsaid.get(title) is one for title, one in mine.items()):
                return
            await self._say("report", lambda steps: Report(**self._body(steps, facts)))

    async def complete(self, facts: Facts) -> None:
        """The work is done."""
        await self._say("complete", lambda steps: Completion(**self._body(steps, facts)))

    async def stopped(self, message: str) -> None:
        """Stopped at a safe point, as asked."""
        await self._say(
            "stopped", lambda steps: Cancellation(**self._body(steps, None), message=message)
        )

    async def release(self) -> None:
        """Hand the lease back; what is unsaid is said first."""
        if self._unsaid:
            await self.flush()
        await self._say("release", lambda _: Release(lease_token=self._lease.token))

    async def fail(self, failure: StepFailure) -> None:
        """The attempt failed."""
        delay = failure.delay if isinstance(failure, TemporaryFailure) else None
        await self._say(
            "fail",
            lambda steps: Failure(
                **self._body(steps, None),
                code=failure.code,
                message=failure.message[:_LONGEST] or failure.code,
                family=failure.family,
                retryable=isinstance(failure, TemporaryFailure),
                instance_usable=failure.usable,
                retry_after_seconds=delay,
                detail=failure.detail,
            ),
        )

    async def _say(self, what: str, make: Callable[[list[StepReport]], Report | Release]) -> None:
        unsaid = dict(self._unsaid)
        body, key = make(list(unsaid.values())), secrets.token_hex(16)
        answer = await self._delivered(what, body, key)
        for title, report in unsaid.items():
            if self._unsaid.get(title) is report:
                del self._unsaid[title]
        self._lease.heard(cancel_requested=answer.cancel_requested)

    async def _delivered(self, what: str, body: Report | Release, key: str) -> Operation:
        """Say it until there is an answer; the same key each time, while the lease holds."""
        while True:
            try:
                return await self._calls.say(self._operation, what, body, key)
            except (UnreachableError, TemporaryError) as error:
                if isinstance(error, TemporaryError) and error.problem.status == 409:
                    raise TemporaryFailure("report_refused", error.problem.detail) from error
                await asyncio.sleep(_AGAIN_SECONDS)
            except NotFoundError as error:
                raise LeaseLost from error
            except ProblemError as error:
                if isinstance(error, ConflictError) and lease_lost(error):
                    raise LeaseLost from error
                raise PermanentFailure("report_refused", error.problem.detail) from error

    def _body(self, steps: list[StepReport], facts: Facts | None) -> dict[str, Any]:
        body: dict[str, Any] = {"lease_token": self._lease.token, "steps": steps}
        if facts is not None and facts.instance is not None:
            body["instance"] = facts.instance
        if facts is not None and facts.members:
            body["members"] = list(facts.members)
        return body
