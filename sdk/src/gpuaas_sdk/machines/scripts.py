"""The words that go over to a machine: how a script is wrapped, and the scripts of our own. Pure.

A script never stands on a command line, where every user of the machine could read it: the command
is the same for all, and what it runs comes through standard input, whole or not at all. Used by
`ssh_wire.py` and `machine.py`.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gpuaas_sdk.machines.values import File

CORRELATION_VARIABLE: Final = "GPUAAS_CORRELATION_ID"
ALLOCATION_VARIABLE: Final = "GPUAAS_ALLOCATION_ID"
JOURNAL_TAG: Final = "gpuaas"
UNIT_PROPERTIES: Final = ("LoadState", "ActiveState", "SubState", "Result", "MainPID")
NOT_WHOLE: Final = 125
KILL_AFTER: Final = 5  # seconds between being asked to end and being ended
_WHOLE: Final = "#gpuaas:whole#"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class About:
    """On whose behalf something is done on a machine."""

    correlation_id: str = ""
    what: str = ""


@dataclass(frozen=True)
class Order:
    """A script to run, with everything it needs. Pieces of `input` that are paths are streamed."""

    allocation_id: str
    script: str
    timeout: float
    env: Mapping[str, str] = field(default_factory=dict)
    input: Sequence[bytes | Path] = ()
    about: About = field(default_factory=About)
    stdout_limit: int = 1 << 20
    stderr_limit: int = 1 << 18


def command_of(payload: bytes, timeout: float) -> str:
    """What sshd is asked to run: it reads the payload, then runs it within the time.

    `timeout` ends the whole process group, also when nobody can reach the machine any more.
    """
    inner = (
        f"p=$(head -c {len(payload)}); case $p in"
        f' *"{_WHOLE}") eval "$p";; *) exit {NOT_WHOLE};; esac'
    )
    limit = f"timeout -k {KILL_AFTER} {timeout:.3f}"
    return f"exec {limit} /bin/sh -c {shlex.quote(inner)}"


def payload_of(order: Order) -> bytes:
    """The script with its surroundings: its group's number, a line in the journal, the environment.

    The first line of its output is the number of the process group, to end it by.
    """
    if "\0" in order.script or any("\0" in value for value in order.env.values()):
        raise ValueError("a script and its environment cannot hold a NUL")
    given = {
        "PATH": _PATH,
        "LC_ALL": "C.UTF-8",
        CORRELATION_VARIABLE: order.about.correlation_id,
        ALLOCATION_VARIABLE: order.allocation_id,
        **order.env,
    }
    lines = [
        "unset p",
        "echo $PPID",
        f"(logger -t {JOURNAL_TAG} -- {shlex.quote(_journal(order))} </dev/null >/dev/null 2>&1 &)",
        *(f"export {_variable(name)}={shlex.quote(value)}" for name, value in given.items()),
        order.script,
        _WHOLE,
    ]
    return "\n".join(lines).encode()


def put_script(files: Sequence[tuple[File, int]]) -> str:
    """Put files of known sizes in place from standard input, each whole or not at all."""
    lines = [
        "set -eu",
        "t=",
        'trap \'[ -z "$t" ] || rm -f -- "$t"\' EXIT',
        "put() {",
        '  mkdir -p -- "${1%/*}/"',
        '  t=$(mktemp -- "${1%/*}/.gpuaas.XXXXXXXX")',
        '  head -c "$2" >"$t"',
        '  [ "$(stat -c %s -- "$t")" -eq "$2" ] || { echo "$1: content broke off" >&2; exit 74; }',
        '  chown -- "$4" "$t"',
        '  chmod -- "$3" "$t"',
        '  sync -- "$t"',
        '  mv -fT -- "$t" "$1"',
        "  t=",
        "}",
    ]
    for file, size in files:
        if not file.path.startswith("/") or file.path.endswith("/"):
            raise ValueError(f"{file.path!r} is not the absolute path of a file")
        words = (file.path, str(size), f"{file.mode:o}", f"{file.owner}:{file.group}")
        lines.append(f"put {shlex.join(words)}")
    return "\n".join(lines)


def get_script(path: str, limit: int) -> str:
    """Read a file; one byte more than allowed tells that it is too long."""
    return f"exec head -c {limit + 1} -- {shlex.quote(path)}"


def unit_script(name: str) -> str:
    """Show a unit."""
    return f"systemctl show --property={','.join(UNIT_PROPERTIES)} -- {shlex.quote(name)}"


def unit_wait_script(name: str, active: str, timeout: float) -> str:
    """Wait on the machine itself until a unit is in a state, has failed, or the time is over."""
    unit = shlex.quote(name)
    return "\n".join(
        [
            f"n=0; until [ $n -ge {max(1, round(timeout * 5))} ]; do",
            f"  s=$(systemctl show --property=ActiveState --value -- {unit}) || exit",
            f"  case $s in {shlex.quote(active)}|failed) break;; esac",
            "  n=$((n+1)); sleep 0.2",
            "done",
            f"systemctl show --property={','.join(UNIT_PROPERTIES)} -- {unit}",
            f'[ "$s" = {shlex.quote(active)} ] || {_journal_tail(unit)} >&2 || true',
        ]
    )


def _journal_tail(unit: str) -> str:
    return f"journalctl --no-pager --output=cat --lines=15 --unit={unit}"


def _journal(order: Order) -> str:
    said = (
        ("correlation_id", order.about.correlation_id),
        ("allocation", order.allocation_id),
        ("what", order.about.what),
    )
    return " ".join(f"{name}={value}" for name, value in said if value)


def _variable(name: str) -> str:
    if not name.isascii() or not name.isidentifier():
        raise ValueError(f"{name!r} cannot name an environment variable")
    return name
