"""The suite's runner on planted tests: flaky, hanging, leaking, and a runner that is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import house_tree as tree
import pytest
from eventually import eventually_sync

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

FLAKY = """
from pathlib import Path
def {name}():
    seen = Path(__file__).with_suffix(".{name}")
    second = seen.exists()
    seen.touch()
    assert second, "the first time it fails"
"""
HANGING = """
import threading
import pytest
@pytest.mark.timeout(2)
def test_it_hangs():
    threading.Event().wait()
"""
LEAKING = """
import subprocess, tempfile
CHILDREN = []
def test_it_leaks():
    CHILDREN.append(subprocess.Popen(["tail", "-f", "/dev/null"]))
    tempfile.mkdtemp(prefix="forgotten-")
"""
WAITING = """
import subprocess, tempfile, threading
from pathlib import Path
def test_it_waits():
    child = subprocess.Popen(["tail", "-f", "/dev/null"])
    Path(__file__).with_suffix(".child").write_text(f"{child.pid} {tempfile.gettempdir()}")
    threading.Event().wait()
"""
SEEDED = """
from pathlib import Path
def test_it_hashes(pytestconfig):
    seeds = (hash("text"), pytestconfig.getoption("hypothesis_seed"))
    Path(__file__).with_suffix(".seeds").write_text(repr(seeds))
"""
IN_ORDER = (
    """
import pytest
pytestmark = pytest.mark.in_order
DONE = []
def test_first():
    DONE.append("first")
"""
    + FLAKY.format(name="test_second")
    + """
    DONE.append("second")
def test_third():
    assert DONE == ["first", "second"]
"""
)


class Ended(NamedTuple):
    """How a run of planted tests ended."""

    status: int
    said: str
    flaky: list[str]


@pytest.fixture
def planted() -> Iterator[Path]:
    """A folder of tests inside the checkout, so that its rules hold there."""
    with tempfile.TemporaryDirectory(prefix="planted-", dir=tree.ROOT / ".cache") as folder:
        yield Path(folder)


def test_a_flaky_test_is_named_and_the_run_is_green(planted: Path) -> None:
    (planted / "test_planted.py").write_text(FLAKY.format(name="test_it"))
    ended = run(planted)
    assert ended.status == 0, ended.said
    assert "FLAKY: 1 failed and passed when repeated alone" in ended.said
    assert "the first time it fails" in ended.said
    assert "load at that moment" in ended.said
    assert "1 passed, 0 failed" in ended.said
    assert [name.partition("::")[2] for name in ended.flaky] == ["test_it"]


def test_three_flaky_tests_make_the_run_red(planted: Path) -> None:
    names = ("test_one", "test_two", "test_three")
    (planted / "test_planted.py").write_text("".join(FLAKY.format(name=name) for name in names))
    ended = run(planted)
    assert ended.status == 1, ended.said
    assert "FLAKY: 3 failed and passed when repeated alone" in ended.said
    assert "the run is red" in ended.said
    assert len(ended.flaky) == 3


def test_one_that_builds_on_others_is_repeated_with_them(planted: Path) -> None:
    (planted / "test_planted.py").write_text(IN_ORDER)
    ended = run(planted)
    assert ended.status == 0, ended.said
    assert "not run: test_second, which it builds on, failed" in ended.said
    assert "3 passed, 0 failed" in ended.said
    assert [name.partition("::")[2] for name in ended.flaky] == ["test_second"]


def test_a_test_that_fails_twice_and_one_that_hangs_make_the_run_red(planted: Path) -> None:
    (planted / "test_planted.py").write_text("def test_it_fails():\n    assert not 'always'\n")
    (planted / "test_hanging.py").write_text(HANGING)
    ended = run(planted)
    assert ended.status == 1, ended.said
    assert "FAILED: 2, also when repeated alone" in ended.said
    assert "Timeout (>2.0s)" in ended.said
    assert "0 passed, 2 failed" in ended.said
    assert ended.flaky == []


def test_a_test_that_leaves_something_behind_makes_the_run_red(planted: Path) -> None:
    (planted / "test_planted.py").write_text(LEAKING)
    ended = run(planted)
    assert ended.status == 1, ended.said
    assert "tail -f /dev/null" in ended.said
    assert "temporary file forgotten-" in ended.said
    assert "1 passed, 0 failed" in ended.said


def test_what_a_killed_run_left_is_gone_after_the_next_start(planted: Path) -> None:
    (planted / "test_planted.py").write_text(WAITING)
    note = planted / "test_planted.child"
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command(planted), cwd=tree.ROOT, stdout=quiet, stderr=quiet) as runner:
        eventually_sync(lambda: note.exists() and note.read_text(), what="the test waits")
        runner.send_signal(signal.SIGKILL)
    child, temporary = note.read_text().split()
    assert Path(f"/proc/{child}").exists()
    assert Path(temporary).exists()
    (planted / "test_planted.py").write_text("def test_it_passes(): ...\n")
    ended = run(planted)
    assert ended.status == 0, ended.said
    assert "a killed run: " in ended.said
    assert not Path(f"/proc/{child}").exists()
    assert not Path(temporary).exists()


def test_a_soak_prints_its_seed_takes_one_and_writes_a_report(planted: Path) -> None:
    (planted / "test_planted.py").write_text(SEEDED)
    first = run(planted, "soak", "--hours", "0", "--seed", "77")
    assert first.status == 0, first.said
    assert "round 1, again with: make soak SEED=77" in first.said
    [report] = (planted / "soak").glob("*.md")
    assert "## Round 1: `make soak SEED=77`" in report.read_text()
    assert "1 passed, 0 failed" in report.read_text()
    seeds = (planted / "test_planted.seeds").read_text()
    run(planted, "soak", "--hours", "0", "--seed", "77")
    assert (planted / "test_planted.seeds").read_text() == seeds
    run(planted, "soak", "--hours", "0", "--seed", "78")
    assert (planted / "test_planted.seeds").read_text() != seeds


def test_a_recorded_test_is_forgotten_once_it_always_passes(planted: Path) -> None:
    file = planted / "test_planted.py"
    file.write_text(FLAKY.format(name="test_it"))
    [recorded] = run(planted).flaky
    again = run(planted, "flaky", "--times", "2")
    assert again.status == 0, again.said
    assert f"{recorded}: passed 2 times: removed" in again.said
    assert again.flaky == []
    file.write_text("def test_it():\n    assert not 'always'\n")
    broken = run(planted, "flaky", "--times", "2", recorded)
    assert broken.status == 1, broken.said
    assert "failed 2 of 2 times" in broken.said


def run(folder: Path, *given: str) -> Ended:
    """Run the planted tests through the runner, or give it other words."""
    ran = subprocess.run(
        command(folder, *given), cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    record = folder / "flaky.json"
    flaky = list(json.loads(record.read_text())) if record.exists() else []
    return Ended(ran.returncode, ran.stdout + ran.stderr, flaky)


def command(folder: Path, *given: str) -> Sequence[str]:
    """The runner's line, with its records kept beside the planted tests."""
    runner = (sys.executable, "-m", "tools.suite", "--records", str(folder))
    files = sorted(str(path) for path in folder.glob("test_*.py"))
    only = () if "flaky" in given else ("--only", *files)
    return (*runner, *(given or ("test", "--workers", "1")), *only)
