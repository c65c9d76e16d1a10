"""Steps of an operation: merging what a controller reports, and when it counts as stuck. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from gpuaas_contract.controllers import MAX_STEPS, StepReport
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import StepSpec
from gpuaas_contract.states import StepState
from gpuaas_platform.apps.rows import OperationRow
from gpuaas_platform.apps.rules import stamp
from gpuaas_platform.kernel.problems import PlatformError

_OVER = frozenset(StepState) - {StepState.PENDING, StepState.RUNNING}


def step_pending(name: str) -> dict[str, Any]:
    """A step that is known and has not begun."""
    return {
        "name": name,
        "state": str(StepState.PENDING),
        "started_at": None,
        "ended_at": None,
        "message": "",
        "deadline_at": None,
    }


def steps_merged(
    known: Sequence[dict[str, Any]],
    reported: Sequence[StepReport],
    declared: Sequence[StepSpec],
    now: datetime,
) -> list[dict[str, Any]]:
    """The steps with what was reported; a step keeps its place, a new one comes last."""
    merged = {step["name"]: dict(step) for step in known}
    deadlines = {step.name: step.deadline_seconds for step in declared}
    for report in reported:
        before = merged.get(report.name, step_pending(report.name))
        seconds = report.deadline_seconds or deadlines.get(report.name)
        merged[report.name] = _step(before, report, seconds, now)
    if len(merged) > MAX_STEPS:
        raise PlatformError(
            ErrorCode.INVALID_REQUEST, f"/steps: an operation has at most {MAX_STEPS} steps"
        )
    return list(merged.values())


def deadline_of(progress: Sequence[dict[str, Any]], row: OperationRow, now: datetime) -> datetime:
    """When to call the operation stuck: a running step's deadline, or the attempt's."""
    began = row.attempt_started_at or now
    ends = [began + timedelta(seconds=row.attempt_seconds)]
    ends += [
        datetime.fromisoformat(step["deadline_at"])
        for step in progress
        if step["state"] == StepState.RUNNING and step.get("deadline_at")
    ]
    return min(ends)


def overdue_step(progress: Sequence[dict[str, Any]], now: datetime) -> str | None:
    """The running step that is past its deadline, if one is."""
    for step in progress:
        deadline = step.get("deadline_at") if step["state"] == StepState.RUNNING else None
        if deadline is not None and datetime.fromisoformat(deadline) <= now:
            return str(step["name"])
    return None


def _step(
    before: dict[str, Any], report: StepReport, seconds: int | None, now: datetime
) -> dict[str, Any]:
    over = report.state in _OVER
    again = before["state"] in _OVER and report.state is StepState.RUNNING
    started = None if again else before.get("started_at")
    if started is None and report.state not in {StepState.PENDING, StepState.SKIPPED}:
        started = stamp(now)
    deadline = None
    if report.state is StepState.RUNNING and seconds is not None and started is not None:
        deadline = stamp(datetime.fromisoformat(started) + timedelta(seconds=seconds))
    ended = None
    if over:
        ended = before.get("ended_at") if before["state"] == report.state else None
        ended = ended or stamp(now)
    return {
        "name": report.name,
        "state": str(report.state),
        "started_at": started,
        "ended_at": ended,
        "message": report.message,
        "deadline_at": deadline,
    }
