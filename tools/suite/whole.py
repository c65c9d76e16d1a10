"""`make test`: the stages in order, failures repeated alone, and the report at the end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tools.progress import ROOT
from tools.suite.events import FailedTest, Outcome
from tools.suite.flaky import FlakyRecord, Judgement, Repeated, judge
from tools.suite.leaks import HostState, killed_labs_remove, leftovers
from tools.suite.proven import PAGE, proven_record
from tools.suite.pytest_run import Pytest
from tools.suite.report import Summary, report_lines
from tools.suite.rotation import SLICE_VARIABLE, SLICES, slices_seen, slot_of_commit
from tools.suite.run import Run, killed_runs_clean, run_begin
from tools.suite.stopwatch import Stopwatch

WORKERS: Final = 3
ALONE: Final = ("-q",)
MOST_REPEATED: Final = 12
"""With more failures than this the run is red whatever a repetition would say."""


class StageFailed(Exception):
    """A stage before the tests ended badly; what it printed says why."""


class WholeRun:
    """One run of everything that `make test` promises."""

    def __init__(self, records: Path, only: Sequence[str] = (), workers: int = WORKERS) -> None:
        self._record = FlakyRecord(records)
        self._only = tuple(only)
        self._workers = workers
        self._watch = Stopwatch()

    def run(self) -> int:
        """Run it; 0 when green."""
        slot = slot_chosen()
        with run_clean() as (run, before):
            what = "whole" if slot is None else f"slice {slot % SLICES + 1} of {SLICES}"
            print(f"  suite: large matrices run {what} ({SLICE_VARIABLE}=… for another, =all)")
            if not self._only:
                self._stages()
            pytest = Pytest(run, run.environment(slot))
            with self._watch.stage("tests"):
                outcome = pytest(*tests_at_once(self._workers), *self._only)
            with self._watch.stage("failed tests again, alone"):
                judgement = failed_repeat(pytest, outcome.failed)
            with self._watch.stage("looking for what was left behind"):
                left = leftovers(run, before)
            summary = Summary(
                outcome, judgement, self._watch.stages, slices_seen(run.folder), started(run), left
            )
            record_flaky(self._record, judgement)
            print("\n".join(report_lines(summary)), flush=True)
        if summary.green and not (outcome.skipped or self._only or slot is None):
            self._proven(outcome.passed, slot)
        return 0 if summary.green else 1

    def _stages(self) -> None:
        self._command("lint, types, boundaries", "make", "--no-print-directory", "lint")
        if (ROOT / "console" / "node_modules").is_dir():
            npm = ("npm", "--prefix", "console")
            self._command("console: types", *npm, "run", "--silent", "check")
            self._command("console: unit tests", *npm, "test", "--", *_CONSOLE_TESTS)
            self._command("console: what is built", *npm, "run", "test:dist")

    def _command(self, stage: str, *words: str) -> None:
        path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        with self._watch.stage(stage):
            ended = subprocess.run(words, cwd=ROOT, env={**os.environ, "PATH": path}, check=False)
        if ended.returncode:
            raise StageFailed(f"{stage} ended with {ended.returncode}: {' '.join(words)}")

    def _proven(self, passed: int, slot: int) -> None:
        name = proven_record(passed=passed, seconds=self._watch.seconds, slot=slot)
        if name is not None:
            print(f"  suite: {PAGE.relative_to(ROOT)} says so for {name}", file=sys.stderr)


_CONSOLE_TESTS: Final = ("--reporter=dot",)


@contextlib.contextmanager
def run_clean() -> Iterator[tuple[Run, HostState]]:
    """A run on a host that killed ones left clean; nothing of it is there afterwards."""
    for line in killed_runs_clean():
        print(f"  suite: {line}")
    for name in killed_labs_remove():
        print(f"  suite: lab {name} of a program that was killed: removed")
    run, before = run_begin(), HostState.read()
    try:
        yield run, before
    finally:
        run.processes_end()
        run.remove()


def tests_at_once(workers: int) -> tuple[str, ...]:
    """pytest's words for several files of tests at once, in the order they stand in."""
    return ("-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder")


def slot_chosen() -> int | None:
    """The slot the environment names, else the commit's; None for everything."""
    named = os.environ.get(SLICE_VARIABLE, "")
    if named == "all":
        return None
    return int(named) if named else slot_of_commit(ROOT)


def failed_repeat(pytest: Pytest, failed: Sequence[FailedTest]) -> Judgement:
    """Run each failed test alone, one after the other."""
    if len(failed) > MOST_REPEATED:
        return judge([Repeated(one, passed=False) for one in failed])
    repeated = []
    seen: dict[str, Outcome] = {}
    for one in failed:
        if one.target not in seen:
            print(f"\n  suite: again, alone: {one.target}", flush=True)
            seen[one.target] = pytest(*ALONE, one.target)
        again = seen[one.target]
        repeated.append(Repeated(one, passed=again.passed > 0 and not again.failed))
    return judge(repeated)


def record_flaky(record: FlakyRecord, judgement: Judgement) -> None:
    """Remember flaky tests until their cause is mended."""
    if judgement.flaky:
        commit = subprocess.run(
            ("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        date = datetime.now(UTC).date().isoformat()
        record.add(judgement.flaky, commit=commit.stdout.strip(), date=date)


def started(run: Run) -> Counter[str]:
    """How many servers and machines tests started, by kind."""
    file = run.folder / "started.txt"
    return Counter(file.read_text().splitlines() if file.exists() else ())
