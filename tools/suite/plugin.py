"""The pytest plugin of the suite's runner: writes down what happens, as it happens.

Loaded by `-p tools.suite.plugin`. The process that reports writes one line per phase of a test to
`events.jsonl`; every process counts the servers and machines it starts. It changes no outcome.
With a seed (of a soak) files run in another order and property tests try other examples.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest

from tools.suite.rotation import FOLDER_VARIABLE, on_turn

SEED_VARIABLE: Final = "SUITE_SEED"

hypothesis.settings.register_profile("soak", deadline=None, database=None, max_examples=300)

PROGRAMS: Final = {
    "postgres": "PostgreSQL",
    "pg_ctl": "PostgreSQL",
    "bao": "OpenBao",
    "nats-server": "NATS",
    "sshd": "sshd",
    "gpuaas-platform": "platform",
    "gpuaas-slurm": "app controller",
    "systemd-nspawn": "machine",
    "run-driver": "browser",  # by the driver that starts and steers it
    "weed": "S3",
    "nginx": "nginx",
}
"""What a started program is called in the report; others are not counted."""


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write, where a runner has said where to."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is None:
        return
    _count_programs(Path(folder) / "started.txt")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Events(Path(folder) / "events.jsonl"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out files whose turn it is not; with a seed, shuffle the files that stay.

    Tests of a file keep their order.
    """
    matrices: dict[str, list[str]] = {}
    for item in items:
        for mark in item.iter_markers("rotates"):
            matrices.setdefault(mark.args[0], []).append(_file(item))
    left_out = {
        file
        for matrix, found in matrices.items()
        for files in [sorted(set(found))]
        for file in set(files) - set(on_turn(matrix, files))
    }
    deselected = [item for item in items if _file(item) in left_out]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if _file(item) not in left_out]
    seed = os.environ.get(SEED_VARIABLE)
    if seed is not None:
        files = list(dict.fromkeys(_file(item) for item in items))
        random.Random(seed).shuffle(files)  # noqa: S311 - no secret
        items.sort(key=lambda item: files.index(_file(item)))


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


class _Events:
    """One line for each phase of each test, and for each file that cannot be collected."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(
            test=report.nodeid,
            phase=report.when,
            outcome=report.outcome,
            seconds=round(report.duration, 3),
            ended=report.stop,
            in_order="in_order" in report.keywords,
            reason=_reason(report),
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed":
            self._write(
                test=report.nodeid, phase="collect", outcome=report.outcome, reason=_reason(report)
            )

    def _write(self, **event: Any) -> None:  # noqa: ANN401 - one JSON object
        event["load"] = os.getloadavg()[0]
        with self._path.open("a") as file:
            file.write(json.dumps(event) + "\n")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The first line of a failure, or why a test was skipped."""
    if report.outcome == "passed":
        return ""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash or report.longrepr).partition("\n")[0]


def _count_programs(file: Path) -> None:
    def started(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            name = _program(arguments[1])
            if name:
                with file.open("a") as lines:
                    lines.write(f"{name}\n")

    sys.addaudithook(started)


def _program(words: Sequence[Any] | str | bytes | os.PathLike[Any]) -> str | None:
    listed = [words] if isinstance(words, str | bytes | os.PathLike) else list(words)
    names = [Path(os.fsdecode(word)).name for word in listed]
    if "systemd-nspawn" in names:  # behind a shell and what it mounts
        return PROGRAMS["systemd-nspawn"]
    # A launcher such as setpriv or `python -m` stands before what is really started.
    for name in names[:6]:
        found = PROGRAMS.get(name)
        if found:
            return found
    return None
