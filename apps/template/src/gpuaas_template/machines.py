"""The machines the app works on: for now a folder of this host for each allocation.

An app of yours replaces this module: its steps would run commands over a machine session. What
the rest of the app asks of a machine stays the same: small, named, safe to repeat. A machine that
cannot be asked raises `Unreachable`; it is never taken for an empty one.
"""

import asyncio
import shutil
from pathlib import Path


class Unreachable(Exception):
    """The machine cannot be asked: nothing is known about what is on it."""


class Machines:
    """All machines, below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, allocation_id: str, name: str) -> str | None:
        """A file's text, or None when there is no such file."""
        return await asyncio.to_thread(self._read, allocation_id, name)

    async def write(self, allocation_id: str, name: str, text: str) -> None:
        """Put a file in place, whole."""
        await asyncio.to_thread(self._write, allocation_id, name, text)

    async def remove(self, allocation_id: str, name: str) -> None:
        """Take a file or a folder away; one that is not there is fine."""
        await asyncio.to_thread(self._remove, allocation_id, name)

    async def names(self, allocation_id: str, name: str = "") -> list[str]:
        """What is in a folder."""
        return await asyncio.to_thread(self._names, allocation_id, name)

    def _machine(self, allocation_id: str) -> Path:
        if not self._folder.is_dir():
            raise Unreachable(f"{self._folder} is not there")
        if (self._folder / f"{allocation_id}.unreachable").exists():
            raise Unreachable(f"{allocation_id} does not answer")
        return self._folder / allocation_id

    def _read(self, allocation_id: str, name: str) -> str | None:
        try:
            return (self._machine(allocation_id) / name).read_text()
        except FileNotFoundError:
            return None

    def _write(self, allocation_id: str, name: str, text: str) -> None:
        path = self._machine(allocation_id) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text)
        fresh.replace(path)

    def _remove(self, allocation_id: str, name: str) -> None:
        path = self._machine(allocation_id) / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _names(self, allocation_id: str, name: str) -> list[str]:
        path = self._machine(allocation_id) / name
        return sorted(one.name for one in path.iterdir()) if path.is_dir() else []
