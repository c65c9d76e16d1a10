"""Steps: merged by name, timed by the platform, stuck by deadline."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_contract.controllers import MAX_STEPS, DetailReport, StepReport
from gpuaas_contract.manifest import StepSpec
from gpuaas_contract.states import StepState
from gpuaas_platform.apps.progress import overdue_step, step_pending, steps_merged
from gpuaas_platform.apps.rules import stamp
from gpuaas_platform.kernel.problems import PlatformError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=40)


def report(name: str, state: StepState, **more: object) -> StepReport:
    return StepReport.model_validate({"name": name, "state": state, **more})


def test_steps_keep_their_order_and_times() -> None:
    known = [step_pending("a"), step_pending("b")]
    began = steps_merged(known, [report("b", StepState.RUNNING)], [], NOW)
    ended = steps_merged(began, [report("b", StepState.SUCCEEDED, message="ok")], [], LATER)
    assert [step["name"] for step in ended] == ["a", "b"]
    assert ended[1]["started_at"] == stamp(NOW)
    assert ended[1]["ended_at"] == stamp(LATER)
    again = steps_merged(ended, [report("b", StepState.SUCCEEDED)], [], LATER + timedelta(1))
    assert again[1]["ended_at"] == stamp(LATER)


def test_a_step_that_runs_again_starts_again() -> None:
    failed = steps_merged([], [report("a", StepState.FAILED)], [], NOW)
    again = steps_merged(failed, [report("a", StepState.RUNNING)], [], LATER)
    assert (again[0]["started_at"], again[0]["ended_at"]) == (stamp(LATER), None)


def test_a_running_step_past_its_deadline_is_overdue() -> None:
    declared = [StepSpec(name="a", title="A", deadline_seconds=30)]
    running = steps_merged([], [report("a", StepState.RUNNING)], declared, NOW)
    assert overdue_step(running, NOW + timedelta(seconds=29)) is None
    assert overdue_step(running, LATER) == "a"
    own = steps_merged([], [report("a", StepState.RUNNING, deadline_seconds=60)], declared, NOW)
    assert overdue_step(own, LATER) is None
    done = steps_merged(running, [report("a", StepState.SUCCEEDED)], declared, LATER)
    assert overdue_step(done, LATER) is None


def test_steps_are_bounded() -> None:
    many = [report(f"s{number}", StepState.RUNNING) for number in range(MAX_STEPS)]
    full = steps_merged([], many, [], NOW)
    with pytest.raises(PlatformError):
        steps_merged(full, [report("one_more", StepState.RUNNING)], [], NOW)


def test_adapter_detail_is_bounded() -> None:
    assert DetailReport(detail={"text": "x" * 60_000}).detail
    with pytest.raises(ValueError, match="65536 bytes"):
        DetailReport(detail={"text": "x" * 66_000})
