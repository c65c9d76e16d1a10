"""`make soak` and `make flaky`: the suite for hours with new seeds, and single tests many times.

A soak runs every matrix whole, files in a random order, with new examples for property tests. Its
seed repeats it: `make soak SEED=…`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import secrets
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
    """Rounds of the whole suite, or of some tests, until the time is over."""

    def __init__(self, records: Path, only: Sequence[str] = ()) -> None:
        self._record = FlakyRecord(records)
        self._report = records / "soak" / f"{datetime.now(UTC):%Y-%m-%d-%H%M}.md"
        self._only = tuple(only)

    def run(self, hours: float, seed: int | None) -> int:
        """Run rounds, the first with this seed where one is given; 0 when each was green."""
        ends = time.monotonic() + hours * 3600
        self._report.parent.mkdir(parents=True, exist_ok=True)
        self._report.write_text("# Soak\n")
        rounds: list[bool] = []
        while not rounds or time.monotonic() < ends:
            seed = secrets.randbelow(_SEEDS) if seed is None else seed
            again = f"make soak SEED={seed}"
            print(f"\n  soak: round {len(rounds) + 1}, again with: {again}", flush=True)
            rounds.append(self._round(len(rounds) + 1, seed))
            seed = None
        print(f"\n  soak: rounds: {len(rounds)}, green: {sum(rounds)}, report: {self._report}")
        return 0 if all(rounds) else 1

    def _round(self, number: int, seed: int) -> bool:
        with run_clean() as (run, before):
            environment = run.environment(None)
            environment |= {SEED_VARIABLE: str(seed), "PYTHONHASHSEED": str(seed)}
            pytest, watch = Pytest(run, environment), Stopwatch()
            given = (f"--hypothesis-seed={seed}", "--hypothesis-profile=soak")
            with watch.stage("tests"):
                outcome = pytest(*tests_at_once(WORKERS), *given, *self._only)
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
