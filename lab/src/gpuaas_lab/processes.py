"""Which processes belong to which lab machine, asked of the kernel.

Called by status, boot, pull-plug and down. A process belongs to a machine when its arguments name
the machine (the supervisor, and the shell that starts it) or when its mount namespace holds the
machine's root (everything inside). Both hold after the lab's own process was killed, and without
any file of the lab.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import names

_PROC = Path("/proc")
_ARGUMENT = re.compile(rb"--machine=(gl[0-9a-f]{5}-n[0-9]+)\0")
_MOUNT = re.compile(rb" - overlay gpuaas-lab:(gl[0-9a-f]{5}-n[0-9]+) ")


@dataclass(frozen=True)
class LabProcess:
    """One process of a machine. The leader is the machine's process 1."""

    pid: int
    machine: str
    leader: bool
    supervisor: bool


def scan(scope: str) -> list[LabProcess]:
    """Every process of the machines in scope: one machine's id, or a lab's prefix."""
    namespaces: dict[str, str | None] = {_namespace(os.getpid()): None}
    found = []
    for entry in os.listdir(_PROC):  # noqa: PTH208 - thousands of names, none needs a Path
        if not entry.isdigit():
            continue
        process = _identify(int(entry), namespaces)
        if process is not None and names.in_scope(process.machine, scope):
            found.append(process)
    return found


def leaders(scope: str) -> dict[str, int]:
    """The process 1 of every machine that runs, by machine id."""
    return {process.machine: process.pid for process in scan(scope) if process.leader}


async def machine_kill(scope: str, patience: float = 10) -> None:
    """End every process of the machines at once, as a power cut does.

    Process 1 goes first: the kernel then takes the rest of its namespace, and the supervisor
    tidies up and leaves by itself. Whatever is still there a moment later is killed as well.
    """
    deadline = asyncio.get_running_loop().time() + patience
    rude_at = asyncio.get_running_loop().time() + 0.5
    while True:
        alive = await asyncio.to_thread(scan, scope)
        now = asyncio.get_running_loop().time()
        if not alive or now > deadline:
            return
        led = {process.machine for process in alive if process.leader}
        _kill(
            process.pid
            for process in alive
            if process.leader or now > rude_at or process.machine not in led
        )
        await asyncio.sleep(0.02)


def memory(processes: Iterable[LabProcess]) -> int:
    """Bytes the processes hold, pages they share counted once between them."""
    return sum(_proportional(process.pid) for process in processes)


def _identify(pid: int, namespaces: dict[str, str | None]) -> LabProcess | None:
    try:
        arguments = (_PROC / str(pid) / "cmdline").read_bytes()
        named = _ARGUMENT.search(arguments)
        if named:
            return LabProcess(pid, named[1].decode(), leader=False, supervisor=True)
        namespace = _namespace(pid)
        if namespace not in namespaces:
            namespaces[namespace] = _mounted(pid)
        machine = namespaces[namespace]
        if machine is None:
            return None
        return LabProcess(pid, machine, leader=_is_leader(pid), supervisor=False)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None  # it ended while we looked
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return None  # it is about to: its mounts are gone already


def _namespace(pid: int) -> str:
    return os.readlink(_PROC / str(pid) / "ns/mnt")  # noqa: PTH115 - not a path, a label


def _mounted(pid: int) -> str | None:
    mounted = _MOUNT.search((_PROC / str(pid) / "mountinfo").read_bytes())
    return mounted[1].decode() if mounted else None


def _is_leader(pid: int) -> bool:
    try:
        status = (_PROC / str(pid) / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    line = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    # One level below us and first in it: a service with a namespace of its own is deeper.
    return line.split()[2:] == ["1"]


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _proportional(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text()
    except (OSError, ProcessLookupError):
        return 0
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024
