"""Where an app keeps what is its own: small JSON documents by instance and key.

The platform knows nothing of it. An app may bring its own store; these two serve tests and
controllers with a local folder. A document is replaced whole, never half written.
"""

import asyncio
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Protocol

_SAFE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")


class StateStore(Protocol):
    """App-owned documents."""

    async def read(self, instance_id: str, key: str) -> dict[str, Any] | None:
        """The document, or None when there is none."""
        ...

    async def write(self, instance_id: str, key: str, document: dict[str, Any]) -> None:
        """Replace the document."""
        ...

    async def remove(self, instance_id: str, key: str) -> None:
        """Forget the document; one that is not there is fine."""
        ...


class MemoryState:
    """Documents in memory: gone with the process."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], str] = {}

    async def read(self, instance_id: str, key: str) -> dict[str, Any] | None:
        """The document, or None when there is none."""
        found = self._documents.get((instance_id, key))
        return None if found is None else dict(json.loads(found))

    async def write(self, instance_id: str, key: str, document: dict[str, Any]) -> None:
        """Replace the document."""
        self._documents[instance_id, key] = json.dumps(document)

    async def remove(self, instance_id: str, key: str) -> None:
        """Forget the document."""
        self._documents.pop((instance_id, key), None)


class FolderState:
    """Documents in a folder of this machine, one file each, replaced by renaming."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, instance_id: str, key: str) -> dict[str, Any] | None:
        """The document, or None when there is none."""
        return await asyncio.to_thread(_read, self._path(instance_id, key))

    async def write(self, instance_id: str, key: str, document: dict[str, Any]) -> None:
        """Replace the document; it is on the disk when this returns."""
        await asyncio.to_thread(_write, self._path(instance_id, key), document)

    async def remove(self, instance_id: str, key: str) -> None:
        """Forget the document."""
        await asyncio.to_thread(self._path(instance_id, key).unlink, missing_ok=True)

    def _path(self, instance_id: str, key: str) -> Path:
        for part in (instance_id, key):
            if not _SAFE.match(part):
                raise ValueError(f"{part!r} cannot name a document")
        return self._folder / instance_id / f"{key}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text()))
    except FileNotFoundError:
        return None


def _write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
