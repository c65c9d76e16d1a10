"""The words that go over to a machine: how a script is wrapped, and the scripts of our own. Pure.

A script never stands on a command line, where every user of the machine could read it: the command
is the same for all, and what it runs comes through standard input, whole or not at all. Used by
`ssh_wire.py` and `machine.py`.
"""

import shlex
import tarfile
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


def put_script(files: Sequence[tuple[File, int]], mark: str, then: str = "") -> str:
    """Put the files of `put_input` in place, each whole or not at all; `then` more.

    All of them are written before the first takes its place, and as few programs are started as
    that takes: on a small machine they cost more than the bytes. `mark` is in no other name.
    """
    folders = _folders(files)
    fresh = [_fresh(folder, mark) for folder in folders]
    lines = [
        "set -eu",
        "umask 022",
        f"mkdir -p -- {shlex.join(folders)}",
        f"mkdir -m 0700 -- {shlex.join(fresh)}",  # ours alone: nothing is written through
        f"trap {shlex.quote(f'rm -rf -- {shlex.join(fresh)}')} EXIT",
        # Written now, by the machine's own clock.
        "tar --extract --touch --absolute-names --preserve-permissions --no-same-owner --file=-",
        *_owned(files, mark),
        f"sync -- {shlex.join(_written(file, mark) for file, _ in files)}",
        *(
            f"mv -f -t {shlex.quote(folder)} -- "
            + shlex.join(_written(file, mark) for file, _ in files if _parent(file) == folder)
            for folder in folders
        ),
        f"rmdir -- {shlex.join(fresh)}",
        "trap - EXIT",
        "set +eu",
    ]
    return "\n".join([*lines, then])


def put_input(files: Sequence[tuple[File, int]], mark: str) -> list[bytes | Path]:
    """What `put_script` reads: an archive of the files, which ends early or is whole."""
    pieces: list[bytes | Path] = []
    length = 0
    for file, size in files:
        head = tarfile.TarInfo(_written(file, mark))
        head.size, head.mode = size, file.mode
        header, rest = head.tobuf(tarfile.GNU_FORMAT), bytes(-size % tarfile.BLOCKSIZE)
        pieces += [header, file.content, rest]
        length += len(header) + size + len(rest)
    end = 2 * tarfile.BLOCKSIZE
    return [*pieces, bytes(end + -(length + end) % tarfile.RECORDSIZE)]


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


def _folders(files: Sequence[tuple[File, int]]) -> list[str]:
    for file, _ in files:
        if not file.path.startswith("/") or file.path.endswith("/"):
            raise ValueError(f"{file.path!r} is not the absolute path of a file")
    return list(dict.fromkeys(_parent(file) for file, _ in files))


def _parent(file: File) -> str:
    return file.path.rpartition("/")[0] or "/"


def _fresh(folder: str, mark: str) -> str:
    return f"{folder.rstrip('/')}/.gpuaas.{mark}"


def _written(file: File, mark: str) -> str:
    return f"{_fresh(_parent(file), mark)}/{file.path.rpartition('/')[2]}"


def _owned(files: Sequence[tuple[File, int]], mark: str) -> list[str]:
    """One call for all files of one owner; none for root's, whose they are from the start.

    Another owner takes special modes away, so that they are given again.
    """
    owners = dict.fromkeys(f"{file.owner}:{file.group}" for file, _ in files)
    others = [owner for owner in owners if owner != "root:root"]
    chowns = [
        f"chown -- {shlex.quote(owner)} "
        + shlex.join(_written(f, mark) for f, _ in files if f"{f.owner}:{f.group}" == owner)
        for owner in others
    ]
    special = [file for file, _ in files if file.mode > 0o777 and others]
    return [*chowns, *(f"chmod {f.mode:o} -- {shlex.quote(_written(f, mark))}" for f in special)]


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
