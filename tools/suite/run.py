"""One run of the suite: its folders, the processes that belong to it, and how they are ended.

Everything a run starts inherits `SUITE_FOLDER` and a `TMPDIR` below it, so that a later run can
tell what a killed one left behind. A run that is alive is never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.progress import CACHE
from tools.suite.rotation import FOLDER_VARIABLE, SLICE_VARIABLE

PREFIX: Final = "gsuite-"
_PLACE: Final = Path("/tmp")  # noqa: S108 - mkdtemp makes the folder; sockets need a short path
_GONE_PATIENCE_S: Final = 30.0


@dataclass(frozen=True)
class Run:
    """A run and the folder that is its own."""

    folder: Path

    @property
    def temporary(self) -> Path:
        """Where everything that asks for a temporary folder gets one."""
        return self.folder / "tmp"

    def environment(self, slot: int | None) -> dict[str, str]:
        """The environment of what the run starts; without a slot, matrices run whole."""
        own = {FOLDER_VARIABLE: str(self.folder), "TMPDIR": str(self.temporary)}
        # Node keeps compiled code among temporary files; here it serves the next run too.
        own["NODE_COMPILE_CACHE"] = str(CACHE / "node-compile-cache")
        if slot is not None:
            own[SLICE_VARIABLE] = str(slot)
        kept = {name: value for name, value in os.environ.items() if name != SLICE_VARIABLE}
        return {**kept, **own}

    def processes(self) -> dict[int, str]:
        """What runs and belongs to this run, by process id; this process itself does not."""
        mark, own = os.fsencode(self.folder), {os.getpid(), os.getppid()}
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in own and _carries(entry, mark):
                found[int(entry.name)] = _command(entry)
        return found

    def processes_end(self) -> None:
        """Kill what belongs to this run, until nothing of it is there."""
        deadline = time.monotonic() + _GONE_PATIENCE_S
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)

    def remove(self) -> None:
        """Remove the run's folder with everything in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def run_begin() -> Run:
    """Make the folder of a new run, and remember in it whose it is."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_PLACE))
    folder.chmod(0o711)  # the database, which is not root, has to enter
    run = Run(folder)
    run.temporary.mkdir(mode=0o1777)
    run.temporary.chmod(0o1777)
    owner = {"pid": os.getpid(), "started": _started(Path(f"/proc/{os.getpid()}"))}
    (folder / "run.json").write_text(json.dumps(owner))
    return run


def killed_runs_clean() -> list[str]:
    """End and remove what killed runs left; return one line for each."""
    cleaned = []
    for folder in sorted(_PLACE.glob(f"{PREFIX}*")):
        if _alive(folder):
            continue
        run = Run(folder)
        left = run.processes()
        run.processes_end()
        run.remove()
        cleaned.append(f"a killed run: {len(left)} processes and {folder} removed")
    return cleaned


def _alive(folder: Path) -> bool:
    try:
        owner = json.loads((folder / "run.json").read_text())
    except (OSError, ValueError):
        # Another run may be making it right now; an old one without a record is nobody's.
        return time.time() - folder.stat().st_mtime < 60
    return _started(Path(f"/proc/{owner['pid']}")) == str(owner["started"])


def _started(process: Path) -> str:
    """When a process was started, in the kernel's ticks: with its id it names it for good."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _carries(process: Path, mark: bytes) -> bool:
    """Whether a process has the run's folder in its environment, its command or as its place."""
    try:
        if mark in (process / "environ").read_bytes():
            return True
        if mark in (process / "cmdline").read_bytes():
            return True
        return os.fsencode(process.joinpath("cwd").readlink()).startswith(mark)
    except OSError:
        return False  # it has ended, or is another user's


def _command(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return "ended"
    return words.decode(errors="replace").strip()[:120] or "a kernel's remainder of a process"
