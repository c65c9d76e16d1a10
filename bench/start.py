"""The command line: how long `gpuaas` needs from its start to its end, for each kind of command.

A real platform on loopback, and the installed command as a person has it: a context with a token,
a tenant and a project by their names. Every round runs each command once, beside `python -c pass`,
which is what no command written in Python can go below. Processor time is the command's own, user
and system; the wall's holds the platform's answers too, which share the host's cores. The middle of
the rounds counts; both are held to 150 ms, but for sign-in, certificates and what stays once it
has started. Run it with `python -m bench start`.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from cli_site import BIN, EMAIL, Site, furnish, served_site

ROUNDS = 20
LIMIT_MS = 150.0
_PYTHON = "python -c pass"
_UNKNOWN = "alloc_00000000000000000000000000"
_WHO = ("--email", EMAIL, "--password-file", "password")
_WHERE = ("--tenant", "acme", "--project", "research")


@dataclass(frozen=True)
class Row:
    """One command."""

    command: str
    cpu_ms: float
    wall_ms: float
    slowest_ms: float
    note: str
    held: bool


@dataclass(frozen=True)
class _Line:
    """A command line, why it is measured, and how it must end."""

    words: Sequence[str]
    note: str
    code: int = 0
    held: bool = True

    @property
    def name(self) -> str:
        return " ".join(("gpuaas", *self.words)) if self.words else _PYTHON

    @property
    def argv(self) -> list[str]:
        return [str(BIN / "gpuaas"), *self.words] if self.words else [sys.executable, "-c", "pass"]


@dataclass
class _Times:
    """Milliseconds, round by round."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


_LINES = (
    _Line((), "the floor"),
    _Line(("--version",), "no command is loaded"),
    _Line(("--help",), "no command is loaded"),
    _Line(("allocation", "list", "--help"), "no command is loaded"),
    _Line(("login", "--help"), "no command is loaded"),
    _Line(("ssh", "--help"), "no command is loaded"),
    _Line(("validate", "slice", "--help"), "no command is loaded"),
    _Line(("mcp", "serve", "--help"), "no command is loaded"),
    _Line(("explain", "instance"), "asks nobody; a table"),
    _Line(("allocation", "list"), "a list, as a table"),
    _Line(("allocation", "list", "-o", "json"), "the same for programs"),
    _Line(("allocation", "show", "n1"), "one thing, found by its name"),
    _Line(("whoami",), "a read shaped by hand"),
    _Line(("project", "create", "--name", "next", "--dry-run"), "a change, shown only"),
    _Line(("node", "update", "n1", "--status", "ready"), "a change"),
    _Line(("allocation", "show", _UNKNOWN), "what is refused, in words", code=4),
    # Beside them: what the platform takes its time for, and what stays once it has started.
    _Line(("ssh-config", "n1", "--renew"), "a key and its certificate, as before ssh", held=False),
    _Line(
        ("login", *_WHO, "--name", "admin", *_WHERE),
        "a password, which the platform hashes, becomes a token",
        held=False,
    ),
    _Line(("mcp", "serve"), "stays; nearly all of it is the protocol's own package", held=False),
)


async def measure() -> list[Row]:
    """Serve a platform and run every command again and again, in turn."""
    with served_site() as site:
        furnish(site, machines=3)
        times = {line.name: _Times() for line in _LINES}
        for line in _LINES:
            _timed(site, line, _Times())  # what is read from disk for the first time counts nowhere
        for _ in range(ROUNDS):
            for line in _LINES:
                _timed(site, line, times[line.name])
        return [_row(line, times[line.name]) for line in _LINES]


def within(rows: Sequence[Row]) -> bool:
    """Whether every command keeps the limit."""
    return all(max(row.cpu_ms, row.wall_ms) <= LIMIT_MS for row in rows if row.held)


def _timed(site: Site, line: _Line, into: _Times) -> None:
    environment = site.environment()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        line.argv,
        cwd=site.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != line.code:
        raise RuntimeError(f"{line.name} ended with {done.returncode}: {done.stderr.strip()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    into.cpu.append(1000 * cpu)
    into.wall.append(1000 * wall)


def _row(line: _Line, times: _Times) -> Row:
    return Row(
        line.name,
        statistics.median(times.cpu),
        statistics.median(times.wall),
        max(times.wall),
        line.note,
        line.held,
    )
