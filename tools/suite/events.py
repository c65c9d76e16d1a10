"""What a run's tests did, read back from the lines that the plugin wrote.

Pure but for reading one file: who reports and who decides go by these.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

NOT_RUN: Final = "not run:"
"""How a failure begins that only says that an earlier test of its file failed."""


@dataclass(frozen=True)
class FailedTest:
    """A test that failed: why, and how busy the machine was."""

    test: str
    reason: str
    load: float
    in_order: bool = False
    """Whether it builds on the tests before it in its file."""

    @property
    def target(self) -> str:
        """What has to run to repeat it: the test, or its file where that runs in order."""
        return self.test.partition("::")[0] if self.in_order else self.test


@dataclass
class Outcome:
    """The sum of a pytest run."""

    passed: int = 0
    failed: list[FailedTest] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Why, by test."""
    not_run: list[str] = field(default_factory=list)
    """Tests that build on one that failed."""
    seconds: Counter[str] = field(default_factory=Counter)
    """How long each test took, with what was made and removed for it."""

    @property
    def seconds_by_room(self) -> Counter[str]:
        """The same, added up by the folder of tests it stands in."""
        rooms: Counter[str] = Counter()
        for test, seconds in self.seconds.items():
            rooms[_room(test)] += seconds
        return rooms


def outcome_read(file: Path) -> Outcome:
    """Read the events of a run; a file that is not there had no tests."""
    lines = file.read_text().splitlines() if file.exists() else []
    return outcome_of(json.loads(line) for line in lines)


def outcome_of(events: Iterable[dict[str, Any]]) -> Outcome:
    """Add up events."""
    outcome = Outcome()
    phases: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        phases[event["test"]].append(event)
    for test, seen in phases.items():
        outcome.seconds[test] = sum(one.get("seconds", 0.0) for one in seen)
        failed = next((one for one in seen if one["outcome"] == "failed"), None)
        skipped = next((one for one in seen if one["outcome"] == "skipped"), None)
        if failed is not None:
            if NOT_RUN in failed["reason"]:
                outcome.not_run.append(test)
            else:
                outcome.failed.append(_failed(failed))
        elif skipped is not None:
            outcome.skipped[test] = skipped["reason"]
        else:
            outcome.passed += 1
    return outcome


def _failed(event: dict[str, Any]) -> FailedTest:
    return FailedTest(
        event["test"], event["reason"], round(event["load"], 1), event.get("in_order", False)
    )


def _room(test: str) -> str:
    parts = test.partition("::")[0].split("/")
    return "/".join(parts[: parts.index("tests") + 2 if "tests" in parts else 1][:4])
