"""The parts of the suite's runner that decide: slices, judgements, the report, the proven page."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.suite.events import FailedTest, outcome_of
from tools.suite.flaky import FlakyRecord, Judgement, Repeated, judge
from tools.suite.proven import page_with
from tools.suite.report import Stage, Summary, report_lines
from tools.suite.rotation import SLICES, indexes_on_turn, on_turn

FAILED = FailedTest("tests/test_a.py::test_one", "assert 1 == 2", 3.5)


@given(st.integers(1, 60), st.integers(0, 10_000))
def test_ten_commits_in_a_row_cover_a_matrix_and_each_runs_a_part(count: int, first: int) -> None:
    turns = [indexes_on_turn(first + step, count) for step in range(SLICES)]
    assert set().union(*turns) == set(range(count))
    assert all(0 < len(turn) <= -(-count // SLICES) for turn in turns)


def test_a_matrix_runs_whole_where_no_slice_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUITE_FOLDER", raising=False)
    monkeypatch.delenv("SUITE_SLICE", raising=False)
    assert on_turn("letters", "abc") == ["a", "b", "c"]
    monkeypatch.setenv("SUITE_SLICE", "4")
    assert on_turn("letters", "abc") == ["b"]


def test_two_flaky_tests_are_green_and_three_or_a_broken_one_are_red() -> None:
    flaky = Repeated(FAILED, passed=True)
    broken = Repeated(FAILED, passed=False)
    assert judge([]).green
    assert judge([flaky, flaky]).green
    assert not judge([flaky, flaky, flaky]).green
    assert not judge([broken]).green


def test_events_become_an_outcome() -> None:
    def event(test: str, outcome: str, phase: str = "call", reason: str = "") -> dict[str, object]:
        return {
            "test": test, "phase": phase, "outcome": outcome, "seconds": 1.5, "reason": reason,
            "load": 2.0, "in_order": test == "b.py::second",
        }  # fmt: skip

    outcome = outcome_of(
        [
            event("a.py::one", "passed", "setup"),
            event("a.py::one", "passed"),
            event("a.py::two", "passed"),
            event("a.py::two", "failed", "teardown", "it left a file"),
            event("a.py::three", "skipped", "setup", "no machines here"),
            event("b.py::second", "failed", reason="assert 0"),
            event("b.py::third", "failed", "setup", "not run: second, which it builds on, failed"),
        ]
    )
    assert outcome.passed == 1
    assert [one.test for one in outcome.failed] == ["a.py::two", "b.py::second"]
    assert [one.target for one in outcome.failed] == ["a.py::two", "b.py"]
    assert outcome.skipped == {"a.py::three": "no machines here"}
    assert outcome.not_run == ["b.py::third"]
    assert outcome.seconds["a.py::one"] == 3.0


def test_the_report_ends_with_the_count_that_machines_read() -> None:
    outcome = outcome_of([{"test": "a.py::one", "phase": "call", "outcome": "passed", "load": 1}])
    lines = report_lines(Summary(outcome, Judgement((FAILED,), ()), {"tests": Stage(61.0, 0.9)}))
    assert lines[-1] == "2 passed, 0 failed"
    assert "     1:01  tests, processors 90% busy" in lines
    assert any("FLAKY: 1 failed and passed when repeated alone" in line for line in lines)


def test_a_flaky_test_is_recorded_until_it_is_removed(tmp_path: Path) -> None:
    record = FlakyRecord(tmp_path / "made")
    record.add((FAILED,), commit="abc", date="2026-01-01")
    record.add((FAILED,), commit="def", date="2026-01-02")
    assert record.tests() == [FAILED.test]
    assert '"times": 2' in record.path.read_text()
    assert '"first_seen": "2026-01-01"' in record.path.read_text()
    record.remove(FAILED.test)
    assert record.tests() == []


def test_a_run_replaces_its_distributions_line() -> None:
    first = page_with("", "Debian 12", "| Debian 12 | 2026-01-01 | aaa | 1 | 9 | 1 |")
    both = page_with(first, "Ubuntu 24.04", "| Ubuntu 24.04 | 2026-01-02 | bbb | 1 | 9 | 2 |")
    again = page_with(both, "Debian 12", "| Debian 12 | 2026-01-03 | ccc | 2 | 8 | 3 |")
    assert [line.split(" | ")[1] for line in again.splitlines()[-2:]] == [
        "2026-01-03",
        "2026-01-02",
    ]
    assert again.count("| Debian 12 |") == 1
