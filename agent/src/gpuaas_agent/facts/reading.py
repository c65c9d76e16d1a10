"""The one thin layer between the facts and the machine: files under a root, and what is no file.

Every module of this folder reads through a `Reader`; tests hand it a fixture tree. Nothing here
knows what a text means: the parsers beside it do, and they are pure. What cannot be read raises
`UnreadableError`, and `Notes` turns that into "unknown, because …" instead of a guess.
"""

import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar

S = TypeVar("S", str, bytes)
T = TypeVar("T")
P = ParamSpec("P")

READ_LIMIT = 4 * 1024 * 1024
"""No source of facts is larger; a file that is would only cost memory."""

CHUNK = 64 * 1024
"""Files under /proc/sys want a buffer of kernel memory as large as the read: a large one fails."""


class UnreadableError(Exception):
    """A source could not be read; the message says why."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


@dataclass(frozen=True)
class Space:
    """Size of a filesystem in bytes."""

    total: int
    available: int


def offline_kernel(source: str) -> bytes:
    """Stand in for the kernel when the root is not the running system."""
    raise UnreadableError(source, "the root given is not the running system")


@dataclass(frozen=True)
class Reader:
    """Reads the machine under `root`.

    Programs have been run before and are answered from `outputs`; `kernel` answers what has no
    file (named sources such as ``adjtimex``), as raw bytes.
    """

    root: Path = Path("/")
    outputs: Mapping[tuple[str, ...], str | UnreadableError] = field(default_factory=dict)
    kernel: Callable[[str], bytes] = offline_kernel

    def text(self, path: str) -> str:
        """Return the text of a file."""
        try:
            with self._at(path).open("rb", buffering=0) as stream:
                chunks = iter(lambda: stream.read(CHUNK), b"")
                return b"".join(islice(chunks, READ_LIMIT // CHUNK)).decode(errors="replace")
        except OSError as error:
            raise UnreadableError(path, os.strerror(error.errno or 0)) from error

    def word(self, path: str) -> str:
        """Return a file's text without the white space around it."""
        return self.text(path).strip()

    def number(self, path: str) -> int:
        """Return the whole number a file holds."""
        return _understood(path, self.word(path), int)

    def parsed(self, path: str, parse: Callable[[str], T]) -> T:
        """Return what a parser makes of a file; what it cannot understand is unreadable."""
        return _understood(path, self.text(path), parse)

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a folder."""
        try:
            return sorted(entry.name for entry in self._at(path).iterdir())
        except OSError as error:
            raise UnreadableError(path, os.strerror(error.errno or 0)) from error

    def link(self, path: str) -> str:
        """Return where a symbolic link points, unresolved."""
        try:
            return str(self._at(path).readlink())
        except OSError as error:
            raise UnreadableError(path, os.strerror(error.errno or 0)) from error

    def exists(self, path: str) -> bool:
        """Say whether a path is there; a path that may not be looked at is unreadable."""
        try:
            self._at(path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise UnreadableError(path, os.strerror(error.errno or 0)) from error
        return True

    def space(self, path: str) -> Space:
        """Return the size of the filesystem that holds a path."""
        try:
            found = os.statvfs(self._at(path))
        except OSError as error:
            raise UnreadableError(path, os.strerror(error.errno or 0)) from error
        return Space(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)

    def program(self, argv: tuple[str, ...], parse: Callable[[str], T]) -> T:
        """Return what a parser makes of what a program printed."""
        answer = self.outputs.get(argv, UnreadableError(" ".join(argv), "was not run"))
        if isinstance(answer, UnreadableError):
            raise answer
        return _understood(" ".join(argv), answer, parse)

    def answer(self, source: str, parse: Callable[[bytes], T]) -> T:
        """Return what a parser makes of the kernel's answer."""
        return _understood(source, self.kernel(source), parse)

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def _understood(source: str, raw: S, parse: Callable[[S], T]) -> T:
    try:
        return parse(raw)
    except (ValueError, KeyError, IndexError, struct.error) as error:
        raise UnreadableError(source, f"is not in a form known here: {error}") from error


@dataclass(frozen=True)
class UnknownFact:
    """A fact nobody could read, where it was looked for, and why that failed."""

    fact: str
    source: str
    reason: str


@dataclass
class Notes:
    """Collects what could not be read while the rest goes on."""

    unknown: list[UnknownFact] = field(default_factory=list)

    def take(self, fact: str, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return what `read` returns, or None with a note when the source cannot be read."""
        try:
            return read(*args, **kwargs)
        except UnreadableError as error:
            self.add(fact, error.source, error.reason)
        return None

    def add(self, fact: str, source: str, reason: str) -> None:
        """Note that a fact is unknown."""
        self.unknown.append(UnknownFact(fact, source, reason))
