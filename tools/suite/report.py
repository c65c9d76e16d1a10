"""The end of a run, for people: time by stage, slowest tests, what was started and left, verdict.

Pure: it takes what is known and returns lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.suite.events import FailedTest, Outcome
from tools.suite.flaky import MOST_PER_RUN, Judgement

SLOWEST = 10


@dataclass(frozen=True)
class Stage:
    """How long a stage took, and how much of that the host's processors computed."""

    seconds: float
    busy: float


@dataclass
class Summary:
    """What a run has to report."""

    outcome: Outcome
    judgement: Judgement
    stages: Mapping[str, Stage]
    """What each took, in order."""
    slices: Mapping[str, str] = field(default_factory=dict)
    started: Mapping[str, int] = field(default_factory=dict)
    left: Sequence[str] = ()

    @property
    def green(self) -> bool:
        """Whether the run counts as passed."""
        return self.judgement.green and not self.left


def report_lines(summary: Summary) -> list[str]:
    """The report, top down; the verdict comes last."""
    outcome, judgement = summary.outcome, summary.judgement
    # What was not run at first because of a flaky test has passed with it since.
    mended = [one.target for one in judgement.flaky]
    late = [test for test in outcome.not_run if test.partition("::")[0] in mended]
    passed = outcome.passed + len(judgement.flaky) + len(late)
    stages = [
        f"{_span(stage.seconds):>7}  {name}, processors {stage.busy:.0%} busy"
        for name, stage in summary.stages.items()
    ]
    rooms = [f"{_span(s):>7}  {name}" for name, s in outcome.seconds_by_room.most_common()]
    slowest = [f"{s:6.1f} s  {name}" for name, s in outcome.seconds.most_common(SLOWEST)]
    slices = [f"{name}: {chosen}" for name, chosen in summary.slices.items()]
    started = [f"{count:5d}  {name}" for name, count in sorted(summary.started.items())]
    skipped = [f"{test}: {reason}" for test, reason in outcome.skipped.items()]
    return [
        *_section("Time by stage", stages),
        *_section("Time of tests by folder, all workers together", rooms),
        *_section(f"The {SLOWEST} slowest tests", slowest),
        *_section("Slices of matrices", slices),
        *_section("Started by tests", started),
        *_section("Skipped", skipped or ["nothing"]),
        *_section("Left behind", summary.left or ["nothing"]),
        *_flaky(judgement),
        *_broken(judgement.broken),
        "",
        f"{passed} passed, {len(judgement.broken)} failed",
    ]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _flaky(judgement: Judgement) -> list[str]:
    if not judgement.flaky:
        return []
    count = len(judgement.flaky)
    verdict = (
        "The run is green; find the cause before anything else (make flaky)."
        if judgement.green
        else f"More than {MOST_PER_RUN} flaky tests, or a broken one: the run is red."
    )
    bar = "!" * 78
    lines = [line for test in judgement.flaky for line in _failure(test)]
    return ["", bar, f"FLAKY: {count} failed and passed when repeated alone", *lines, verdict, bar]


def _broken(broken: Sequence[FailedTest]) -> list[str]:
    if not broken:
        return []
    lines = [line for test in broken for line in _failure(test)]
    return ["", f"FAILED: {len(broken)}, also when repeated alone", *lines]


def _failure(test: FailedTest) -> list[str]:
    return [f"  {test.test}", f"      {test.reason}", f"      load at that moment: {test.load}"]


def _span(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
