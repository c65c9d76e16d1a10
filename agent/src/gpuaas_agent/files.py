"""Files that are there whole or not at all, also after a power loss."""

import contextlib
import json
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Owner:
    """Whose a file is, by number, and what others may do with it."""

    uid: int = 0
    gid: int = 0
    mode: int = 0o600


def file_put(path: Path, content: bytes, owner: Owner | None = None, aside: str = ".new") -> None:
    """Write a file under another name and rename it into place, durably.

    The name aside begins with a dot and is always the same for the same purpose, so that what a
    killed agent left is written over, not left for ever. Nobody else can open it on the way.
    """
    temporary = path.with_name(f".{path.name}{aside}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        _write_all(descriptor, content)
        if owner is not None:
            os.fchown(descriptor, owner.uid, owner.gid)
            os.fchmod(descriptor, owner.mode)
        os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    finally:
        os.close(descriptor)
    folder_sync(path.parent)


def json_put(path: Path, value: object) -> None:
    """The same for a small document, for root alone."""
    file_put(path, json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


def json_get(path: Path) -> Any:  # noqa: ANN401 - a document, of whatever form
    """A document, or None where there is none."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def folder_make(path: Path, mode: int) -> None:
    """A folder with exactly this mode, whatever the umask."""
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    path.chmod(mode)


def folder_own(path: Path) -> None:
    """A folder of this user alone.

    A link, or a folder that others own or may write to, is removed with what is in it: an earlier
    holder of the machine may have left it there for a user number of today.
    """
    with contextlib.suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            path.unlink()
        elif found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            shutil.rmtree(path)
    folder_make(path, 0o700)


def folder_sync(path: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
