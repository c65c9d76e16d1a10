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
KILL_AFTER: Final = 5  # seconds between being asked to end and being ended
_WHOLE: Final = "#gpuaas:whole#"
_BROKE_OFF: Final = '{ echo "content broke off" >&2; exit 74; }'
_OVER: Final = "\nexit\n"
_NOWHERE: Final = "</dev/null >/dev/null 2>&1"
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


def spoken(order: Order) -> tuple[str, bytes]:
    """What sshd is asked to run, and what it then reads first: the script, whole or not at all.

    `timeout` ends the whole process group, also when nobody can reach the machine any more. The
    first line of output is the number of that group; without it nothing was run. Where there is
    input beside the script, the script is read to its last byte and the input left for it.
    """
    limit = f"exec timeout -k {KILL_AFTER} {order.timeout:.3f} /bin/sh"
    script = _surrounded(order)
    if not order.input:
        # A group in braces is read to its end before any of it is run. The last word saves saying
        # that there is no more: a packet less.
        return limit, f"{{ eval {shlex.quote(script)} </dev/null\n}}{_OVER}".encode()
    payload = f"{script}\n{_WHOLE}".encode()
    inner = f'p=$(head -c {len(payload)}); case $p in *"{_WHOLE}") eval "$p"; esac'
    return f"{limit} -c {shlex.quote(inner)}", payload


def _surrounded(order: Order) -> str:
    """The script after its group's number, a line in the journal, and the environment."""
    if "\0" in order.script or any("\0" in value for value in order.env.values()):
        raise ValueError("a script and its environment cannot hold a NUL")
    given = {
        "PATH": _PATH,
        "LC_ALL": "C.UTF-8",
        CORRELATION_VARIABLE: order.about.correlation_id,
        ALLOCATION_VARIABLE: order.allocation_id,
        **order.env,
    }
    return "\n".join(
        [
            "unset p",
            "echo $PPID",
            f"(logger -t {JOURNAL_TAG} -- {shlex.quote(_journal(order))} {_NOWHERE} &)",
            *(f"export {_variable(name)}={shlex.quote(value)}" for name, value in given.items()),
            order.script,
        ]
    )


def put_script(files: Sequence[tuple[File, int]], then: str = "") -> str:
    """Put files of known sizes in place from standard input, each whole or not at all; `then` more.

    All of them are written before the first takes its place, and as few programs are started as
    that takes: on a small machine they cost more than the bytes.
    """
    for file, _ in files:
        if not file.path.startswith("/") or file.path.endswith("/"):
            raise ValueError(f"{file.path!r} is not the absolute path of a file")
    folders = dict.fromkeys(file.path.rpartition("/")[0] or "/" for file, _ in files)
    fresh = " ".join(
        f'{shlex.quote(file.path.rpartition("/")[0])}/"$n".{number}'
        for number, (file, _) in enumerate(files)
    )
    sizes = "".join(f"{size} " for _, size in files)
    lines = [
        "set -eu",
        f"mkdir -p -- {shlex.join(folders)}",
        'n=".gpuaas.$$.$(date +%N)"',
        f"set -- {fresh}",
        "trap 'rm -f -- \"$@\"' EXIT",
        "umask 077",
        "set -C",  # a file that is there is never written through
        *(f'head -c {size} >"${{{place}}}"' for place, (_, size) in enumerate(files, 1)),
        f'[ "$(stat -c %s -- "$@" | tr "\\n" " ")" = "{sizes}" ] || {_BROKE_OFF}',
        *_grouped("chown", [f"{file.owner}:{file.group}" for file, _ in files], "root:root"),
        *_grouped("chmod", [f"{file.mode:o}" for file, _ in files], "600"),
        'sync -- "$@"',
        *(
            f'mv -fT -- "${{{place}}}" {shlex.quote(file.path)}'
            for place, (file, _) in enumerate(files, 1)
        ),
        "trap - EXIT",
        "set +euC",
        "umask 022",
        "set --",
    ]
    return "\n".join([*lines, then])


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


def _grouped(program: str, words: Sequence[str], given: str) -> list[str]:
    """One call for all files that need the same word; none for what they have from the start."""
    return [
        f"{program} -- {shlex.quote(word)} "
        + " ".join(f'"${{{place}}}"' for place, one in enumerate(words, 1) if one == word)
        for word in dict.fromkeys(words)
        if word != given
    ]


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
