"""Moves files: a secret into a file, an artifact onto the disk, a file back as output.

Each can be done again after whatever interrupted it, and leaves a whole file or none. Called by the
tasks' runner in a thread of its own. A secret's value is in memory and in its target, nowhere else.
"""

import base64
import contextlib
import errno
import grp
import hashlib
import os
import pwd
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuaas_agent.files import Owner, file_put, folder_sync
from gpuaas_agent.sealing import CannotOpen, box_open
from gpuaas_agent.wire import Unreachable, Wire

_CHUNK = 1024 * 1024
_CODES = {
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.ENOENT: "not_found",
    errno.EACCES: "not_allowed",
    errno.EROFS: "not_allowed",
    errno.EISDIR: "not_a_file",
    errno.ELOOP: "not_a_file",
}


class Failed(Exception):
    """It cannot be done; a code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(Exception):
    """Somebody wants it to stop."""


@dataclass
class Stopper:
    """Asked now and then whether to go on."""

    asked: bool = False
    deadline: float | None = None

    def check(self) -> None:
        """Go on, or not."""
        if self.asked:
            raise Interrupted
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Failed("timed_out", "It did not end in time and was stopped.")


def secret_put(spec: dict[str, Any], sealed: dict[str, str], keys: list[bytes]) -> dict[str, Any]:
    """Open a sealed secret and put it where it belongs."""
    box, info = base64.b64decode(sealed["ciphertext"]), sealed["info"].encode()
    value = _opened(box, info, keys)
    path = Path(spec["path"])
    _placeable(path)
    try:
        file_put(path, value, _owner(spec), ".gpuaas-secret")
    except OSError as error:
        raise _failure(error) from error
    return {"size": len(value)}


@dataclass(frozen=True)
class Source:
    """Where an artifact is fetched, and how to know it."""

    path: str
    digest: str
    size: int


def artifact_put(
    wire: Wire, spec: dict[str, Any], source: Source, stopper: Stopper
) -> dict[str, Any]:
    """Fetch an artifact beside its target, go on where an earlier attempt ended, verify, rename."""
    path = Path(spec["path"])
    owner = _owner(spec)
    _placeable(path)
    part = path.with_name(f".{path.name}.gpuaas-part")
    try:
        _fetched(wire, part, source, stopper)
        _verified(part, source)
        os.chown(part, owner.uid, owner.gid)
        part.chmod(owner.mode)
        part.replace(path)
        folder_sync(path.parent)
    except OSError as error:
        raise _failure(error) from error
    return {"digest": source.digest, "size": source.size}


def artifact_forget(spec: dict[str, Any]) -> None:
    """Remove what an artifact that will not come has left."""
    path = Path(spec["path"])
    with contextlib.suppress(OSError):
        path.with_name(f".{path.name}.gpuaas-part").unlink(missing_ok=True)


def file_collect(spec: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """A file's content, if it is a plain file and not larger than asked for."""
    most = int(spec["max_bytes"])
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(spec["path"], flags)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Failed("not_a_file", f"{spec['path']} is no plain file.")
            content = stream.read(most + 1)
    except OSError as error:
        raise _failure(error) from error
    if len(content) > most:
        raise Failed("too_large", f"{spec['path']} has more than {most} bytes.")
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return content, {"digest": digest, "size": len(content)}


def _opened(box: bytes, info: bytes, keys: list[bytes]) -> bytes:
    for key in keys:
        with contextlib.suppress(CannotOpen):
            return box_open(key, box, info)
    raise Failed("cannot_open", "The secret was not sealed to this machine.")


def _owner(spec: dict[str, Any]) -> Owner:
    try:
        uid = pwd.getpwnam(spec["owner"]).pw_uid
        gid = grp.getgrnam(spec["group"]).gr_gid
    except KeyError as error:
        raise Failed("no_such_owner", f"This machine does not know {error}.") from error
    return Owner(uid, gid, int(spec["mode"], 8))


def _placeable(path: Path) -> None:
    if not path.parent.is_dir():
        raise Failed("no_folder", f"There is no folder {path.parent}.")
    if path.is_dir() and not path.is_symlink():
        raise Failed("not_a_file", f"{path} is a folder.")


def _fetched(wire: Wire, part: Path, source: Source, stopper: Stopper) -> None:
    """Everything up to the size it should have; a longer one is somebody else's."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(part, flags, 0o600), "r+b") as stream:
        have = stream.seek(0, os.SEEK_END)
        if have > source.size:
            have = 0
        stream.truncate(have)
        stream.seek(have)

        def take(piece: bytes) -> None:
            stopper.check()
            stream.write(piece)

        while have < source.size:
            stopper.check()
            if wire.fetch(source.path, have, take) != have:
                have = 0  # this server cannot go on: from the beginning
                stream.truncate(0)
                stream.seek(0)
                wire.fetch(source.path, 0, take)
            reached = stream.tell()
            if reached <= have:
                raise Unreachable("what came ended too early")
            have = reached
        stream.flush()
        os.fsync(stream.fileno())


def _verified(part: Path, source: Source) -> None:
    found = hashlib.sha256()
    with part.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            found.update(piece)
    if f"sha256:{found.hexdigest()}" != source.digest:
        part.unlink()
        raise Failed("digest_differs", f"What came is sha256:{found.hexdigest()}.")


def _failure(error: OSError) -> Failed:
    code = _CODES.get(error.errno or 0, "io_error")
    return Failed(code, f"{error.filename or 'The file'}: {error.strerror}.")
