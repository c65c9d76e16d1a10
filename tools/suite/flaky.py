"""Tests that failed once and then passed alone: repeated, judged, and remembered until mended.

A run with one or two of them is green and says so loudly; with more, or with a test that fails
twice, it is red. The record is a file that people read: `.cache/flaky.json`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tools.suite.events import FailedTest

Record = dict[str, dict[str, Any]]
"""By the test's name: when it was seen first and last, how often, and the newest failure."""

MOST_PER_RUN: Final = 2
"""More than this many flaky tests make a run red."""


@dataclass(frozen=True)
class Repeated:
    """A failed test and how its repetition ended."""

    first: FailedTest
    passed: bool


@dataclass(frozen=True)
class Judgement:
    """What the repetitions say of the run."""

    flaky: tuple[FailedTest, ...]
    broken: tuple[FailedTest, ...]

    @property
    def green(self) -> bool:
        """Whether the run counts as passed."""
        return not self.broken and len(self.flaky) <= MOST_PER_RUN


def judge(repeated: list[Repeated]) -> Judgement:
    """Tell flaky tests, which passed the second time, from broken ones."""
    return Judgement(
        tuple(one.first for one in repeated if one.passed),
        tuple(one.first for one in repeated if not one.passed),
    )


class FlakyRecord:
    """The flaky tests seen so far, by name: when first and last, how often, and the failure."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "flaky.json"

    def tests(self) -> list[str]:
        """The recorded tests."""
        return sorted(self._read())

    def add(self, tests: tuple[FailedTest, ...], *, commit: str, date: str) -> None:
        """Record flaky tests of a run."""
        known = self._read()
        for test in tests:
            before = known.get(test.test, {"first_seen": date, "times": 0})
            known[test.test] = {
                **before,
                **asdict(test),
                "times": before["times"] + 1,
                "last_seen": date,
                "commit": commit,
            }
        self._write(known)

    def remove(self, test: str) -> None:
        """Forget a test whose cause is mended."""
        known = self._read()
        known.pop(test, None)
        self._write(known)

    def _read(self) -> Record:
        try:
            found: Record = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        return found

    def _write(self, known: Record) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
        draft.replace(self.path)
