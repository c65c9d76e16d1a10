"""`make soak` and `make flaky`: the suite for hours with new seeds, and single tests many times.

A soak runs every matrix whole, files in a random order, with new examples for property tests. Its
seed repeats it: `make soak SEED=…`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tools.suite.flaky import FlakyRecord
from tools.suite.leaks import leftovers
from tools.suite.plugin import SEED_VARIABLE
from tools.suite.pytest_run import Pytest, PytestBroke
from tools.suite.report import Summary, report_lines
from tools.suite.stopwatch import Stopwatch
from tools.suite.whole import (
    ALONE,
    WORKERS,
    failed_repeat,
    record_flaky,
    run_clean,
    started,
    tests_at_once,
)

_SEEDS: Final = 2**32


class Soak:
    """Rounds of the whole suite, until the time is over."""

    def __init__(self, records: Path, hours: float, seed: int | None) -> None:
        self._ends = time.monotonic() + hours * 3600
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._seed = self._random.randrange(_SEEDS) if seed is None else seed
        self._record = FlakyRecord(records)
        self._report = records / "soak" / f"{datetime.now(UTC):%Y-%m-%d-%H%M}.md"

    def run(self) -> int:
        """Run rounds; 0 when each was green."""
        green = True
        self._report.parent.mkdir(parents=True, exist_ok=True)
        self._report.write_text("# Soak\n")
        round_number = 0
        while round_number == 0 or time.monotonic() < self._ends:
            round_number += 1
            again = f"make soak SEED={self._seed}"
            print(f"\n  soak: round {round_number}, again with: {again}", flush=True)
            green = self._round(round_number, self._seed) and green
            self._seed = self._random.randrange(_SEEDS)
        print(f"\n  soak: {round_number} rounds, report: {self._report}")
        return 0 if green else 1

    def _round(self, number: int, seed: int) -> bool:
        with run_clean() as (run, before):
            environment = run.environment(None)
            environment |= {SEED_VARIABLE: str(seed), "PYTHONHASHSEED": str(seed)}
            pytest, watch = Pytest(run, environment), Stopwatch()
            given = (f"--hypothesis-seed={seed}", "--hypothesis-profile=soak")
            with watch.stage("tests"):
                outcome = pytest(*tests_at_once(WORKERS), *given)
            judgement = failed_repeat(pytest, outcome.failed)
            left = leftovers(run, before)
            summary = Summary(outcome, judgement, watch.stages, {}, started(run), left)
        record_flaky(self._record, judgement)
        lines = report_lines(summary)
        print("\n".join(lines), flush=True)
        text = "\n".join(lines)
        with self._report.open("a") as file:
            file.write(f"\n## Round {number}: `make soak SEED={seed}`\n\n```\n{text}\n```\n")
        return summary.green and not judgement.flaky


def flaky_repeat(record: FlakyRecord, tests: Sequence[str], times: int) -> int:
    """Run recorded tests many times under load; forget those that always passed."""
    chosen = list(tests) or record.tests()
    if not chosen:
        print(f"  flaky: none is recorded in {record.path}")
        return 0
    failed = {test: _repeated(test, times) for test in chosen}
    for test, count in failed.items():
        verdict = f"failed {count} of {times} times" if count else f"passed {times} times: removed"
        print(f"  flaky: {test}: {verdict}")
        if not count:
            record.remove(test)
    return 1 if any(failed.values()) else 0


def _repeated(test: str, times: int) -> int:
    failed = 0
    with _load(2):
        for number in range(1, times + 1):
            with run_clean() as (run, _):
                try:
                    outcome = Pytest(run, run.environment(None))(*ALONE, test)
                    bad = bool(outcome.failed) or not outcome.passed
                except PytestBroke as error:
                    print(f"  flaky: {error}")
                    bad = True
            failed += bad
            print(f"  flaky: {test}: {number} of {times}, {failed} failed", flush=True)
    return failed


@contextlib.contextmanager
def _load(processes: int) -> Iterator[None]:
    """Keep this many processors busy for the length of a block."""
    busy = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(processes)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.join()


def _spin() -> None:
    while True:
        pass
