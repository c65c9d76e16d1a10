"""Ends what people who logged in by certificate left running, when the machine changes its holder.

A certificate login is known by sshd's own log line; its processes carry the connection in their
environment, also when they were detached. Logins by other keys are the host's own and stay. Root
can hide from this: it tidies up after honest holders, and is no substitute for cleaning.
"""

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_agent.programs import ProgramFailed, program_run

_PROC = Path("/proc")
_ACCEPTED = re.compile(r"Accepted publickey for \S+ from (\S+) port (\d+) ssh2: \S+-CERT\b")
_LOG = ["journalctl", "-o", "json", "--output-fields=MESSAGE,_PID", "-t", "sshd", "-t"]
_ROUNDS = 50
_PAUSE = 0.1


@dataclass(frozen=True)
class Login:
    """A login by certificate: the process that serves it, and how its processes name it."""

    pid: int
    connection: bytes


def sessions_end() -> int:
    """End every login by certificate with all it started; how many processes that were."""
    logins = logins_read(_log().splitlines())
    ended: set[int] = set()
    for _ in range(_ROUNDS):
        found = processes_of(logins, _PROC)
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended |= found
        time.sleep(_PAUSE)
    return len(ended)


def logins_read(lines: Iterable[str]) -> list[Login]:
    """The logins by certificate among sshd's log lines."""
    logins = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            entry = json.loads(line)
            accepted = _ACCEPTED.match(str(entry["MESSAGE"]))
            if accepted is not None:
                connection = f"SSH_CONNECTION={accepted[1]} {accepted[2]} "
                logins.append(Login(int(entry["_PID"]), connection.encode()))
    return logins


def processes_of(logins: Iterable[Login], proc: Path) -> set[int]:
    """What serves these logins and what they started, as far as it still runs."""
    served = {login.pid for login in logins}
    names = tuple(login.connection for login in logins)
    found = set()
    for folder in proc.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if _serves(folder, served) or _started(folder, names):
                found.add(int(folder.name))
    return found


def _serves(folder: Path, served: set[int]) -> bool:
    """Whether it is the sshd of a login, or the child of it that runs as its user."""
    status = (folder / "status").read_text(errors="replace")
    if not status.startswith("Name:\tsshd"):  # a number that was given to another program since
        return False
    parent = re.search(r"^PPid:\t(\d+)", status, re.MULTILINE)
    return int(folder.name) in served or (parent is not None and int(parent[1]) in served)


def _started(folder: Path, names: tuple[bytes, ...]) -> bool:
    values = (folder / "environ").read_bytes().split(b"\0")
    return bool(names) and any(value.startswith(names) for value in values)


def booted_at(proc: Path) -> int:
    """When this machine's first process started, in seconds; numbers of processes count from then.

    Not by the boot's id: a container's own is not seen in the agent's unit.
    """
    kernel = re.search(r"^btime (\d+)$", (proc / "stat").read_text(), re.MULTILINE)
    after = int((proc / "1" / "stat").read_text().rpartition(")")[2].split()[19])
    ticks = os.sysconf("SC_CLK_TCK")
    return after // ticks + (0 if kernel is None else int(kernel[1]))


def _log() -> str:
    """What sshd logged since the machine booted; nothing where there is no journal."""
    with contextlib.suppress(ProgramFailed, OSError):
        since = f"--since=@{booted_at(_PROC)}"
        return program_run([*_LOG, "sshd-session", since]).decode(errors="replace")
    return ""
