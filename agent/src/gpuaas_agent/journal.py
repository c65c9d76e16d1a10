"""What this machine knows of its tasks, on disk, so that none is done twice or forgotten.

A folder per task from the moment it is accepted until the platform has heard how it ended:

    accepted   written down; the platform has not been told that it begins
    begun      the platform knows; whether something was done is in `result`
    ended      the result is there; the platform has not heard it yet

The space for output and result is taken before anything begins: a disk that fills up later cannot
make a result go missing.
"""

import json
import os
import re
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuaas_agent.files import folder_make, folder_sync, json_get, json_put

RESULT_SPACE = 8192
_ID = re.compile(r"task_[0-9a-z]{26}")


@dataclass(frozen=True)
class Entry:
    """One task's folder."""

    folder: Path

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.folder.name

    @property
    def direction(self) -> dict[str, Any]:
        """The task as it was directed."""
        found: dict[str, Any] = json_get(self.folder / "direction.json")
        return found

    @property
    def begun(self) -> bool:
        """Whether the platform knows that it begins."""
        return (self.folder / "begun").exists()

    def begin(self) -> None:
        """The platform knows that it begins."""
        json_put(self.folder / "begun", boot_id())

    @property
    def begun_in_this_boot(self) -> bool:
        """Whether the machine has run through since."""
        return bool(json_get(self.folder / "begun") == boot_id())

    def result(self) -> dict[str, Any] | None:
        """How it ended, or that work has begun (`{"code": null}`), or None: nothing was done."""
        try:
            with (self.folder / "result").open("rb") as stream:
                size, check = (int(word) for word in stream.readline(64).split())
                text = stream.read(size)
        except (FileNotFoundError, ValueError):
            return None
        if zlib.crc32(text) != check:
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def result_put(self, result: dict[str, Any]) -> None:
        """Write a result into the space that was kept for it, durably."""
        text = json.dumps(result).encode()
        if len(text) > RESULT_SPACE - 64:
            text = json.dumps({**result, "message": result["message"][:500]}).encode()
        framed = b"%d %d\n" % (len(text), zlib.crc32(text)) + text
        descriptor = os.open(self.folder / "result", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, framed, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def output(self, start: int, limit: int) -> bytes:
        """Output from an offset on, as far as it is written."""
        try:
            known = int((self.folder / "written").read_text() or 0)
            with (self.folder / "output").open("rb") as stream:
                stream.seek(start)
                return stream.read(max(0, min(limit, known - start)))
        except (FileNotFoundError, ValueError):
            return b""

    def drop(self) -> None:
        """The platform has heard it all."""
        aside = self.folder.with_name(f".{self.folder.name}")
        self.folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


class Journal:
    """All tasks that are not over for the platform."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entries(self) -> list[Entry]:
        """What is known, oldest first; what was dropped or accepted halfway is cleared away."""
        folder_make(self._folder, 0o700)
        found = []
        for path in sorted(self._folder.iterdir()):
            if _ID.fullmatch(path.name) and (path / "direction.json").exists():
                found.append(Entry(path))
            else:
                shutil.rmtree(path, ignore_errors=True)
        return found

    def accept(self, direction: dict[str, Any], output_space: int) -> Entry:
        """Write a task down with room for what will come of it. Raises OSError when it is full."""
        task_id = direction["task_id"]
        if not _ID.fullmatch(task_id):
            raise ValueError(f"{task_id} is no task's id")
        folder_make(self._folder, 0o700)
        making = self._folder / f".{task_id}.new"
        shutil.rmtree(making, ignore_errors=True)
        folder_make(making, 0o700)
        try:
            for name, space in (
                ("output", output_space),
                ("result", RESULT_SPACE),
                ("written", 32),
            ):
                _space_take(making / name, space)
            json_put(making / "direction.json", direction)
            making.rename(self._folder / task_id)
        except OSError:
            shutil.rmtree(making, ignore_errors=True)
            raise
        folder_sync(self._folder)
        return Entry(self._folder / task_id)


def boot_id() -> str:
    """The kernel's name for this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _space_take(path: Path, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if size:
            os.posix_fallocate(descriptor, 0, size)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
