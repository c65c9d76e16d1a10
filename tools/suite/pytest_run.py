"""Starts pytest for a run and waits for its end, however that comes.

What it prints goes straight to the terminal; what happened is read from its events. A run in which
nothing happens any more is ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tools.progress import ROOT
from tools.suite.events import Outcome, outcome_read
from tools.suite.run import Run

STALLED_S: Final = 1500.0
"""Longer than any test may take by its own limit."""
_GRACE_S: Final = 90.0
_ALWAYS: Final = (
    *("-p", "tools.suite.plugin"),
    *("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)),
)


class PytestBroke(Exception):
    """pytest ended without saying which test failed; the message says how."""


class Pytest:
    """Runs tests of one run, one call after the other; each call has events of its own."""

    def __init__(self, run: Run, environment: Mapping[str, str]) -> None:
        self._run = run
        self._environment = {**environment, "GPUAAS_BROWSER": _browser()}

    def __call__(self, *arguments: str) -> Outcome:
        """Run pytest with these arguments; return what happened."""
        events = self._run.folder / "events.jsonl"
        events.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", *_ALWAYS, *arguments]
        with subprocess.Popen(
            command, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL
        ) as process:
            status = _wait(process, events)
        outcome = outcome_read(events)
        if status not in {0, 1} or (status == 1 and not outcome.failed):
            raise PytestBroke(f"pytest ended with {status}: its last lines above say why")
        return outcome


def _wait(process: subprocess.Popen[bytes], events: Path) -> int:
    started = time.monotonic()
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(1)
            _require_progress(started, events)
    except BaseException:
        _end(process)
        raise


def _require_progress(started: float, events: Path) -> None:
    quiet = time.monotonic() - started
    if events.exists():
        quiet = min(quiet, time.time() - events.stat().st_mtime)
    if quiet > STALLED_S:
        raise PytestBroke(f"no test ended for {STALLED_S / 60:.0f} minutes: stopped")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let pytest take down what its fixtures made; kill it where that takes too long."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(_GRACE_S)
    if process.returncode is None:
        process.kill()


def _browser() -> str:
    """The browser that the set-up found."""
    named = ROOT / ".cache" / "browser"
    return os.environ.get("GPUAAS_BROWSER") or (named.read_text().strip() if named.exists() else "")
