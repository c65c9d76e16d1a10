"""Locks between processes, held by the kernel and so released when their holder dies.

Used for a lab's state, for the address range and for each image and package set.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gpuaas_lab.errors import LabBusy

_POLL_SECONDS = 0.02


@asynccontextmanager
async def locked(path: Path, what: str, patience: float = 120) -> AsyncIterator[None]:
    """Hold the lock file; wait up to `patience` seconds for whoever has it.

    The file may be unlinked by its last holder (a lab that went down): the lock counts only
    when the path still names the file that was locked.
    """
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        handle = _take(path)
        if handle is not None:
            break
        if asyncio.get_running_loop().time() > deadline:
            raise LabBusy(f"{what} is being changed by another process", "try again when it ended")
        await asyncio.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        os.close(handle)


def _take(path: Path) -> int | None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(handle).st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None
