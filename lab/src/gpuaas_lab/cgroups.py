"""A control group per machine, where no service manager on the host makes one.

Called at boot and by `down`. systemd in a machine owns the group it finds itself in: two machines
in one group would count each other's processes as their own and wait for them at every stop. On a
host that runs systemd the machine gets a unit, and with it a group, so nothing is done here.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from gpuaas_lab import names
from gpuaas_lab.errors import BootFailed

_ROOT = Path("/sys/fs/cgroup")
# Not below a common group: labs come and go at the same time, and the last one out would remove it
# under the feet of the next one in.
_PREFIX = "gpuaas-lab-"
_EMPTY_PATIENCE = 30.0


def host_systemd() -> bool:
    """Whether systemd is the host's process 1."""
    return Path("/run/systemd/system").is_dir()


def hierarchies() -> list[Path]:
    """Where systemd keeps its groups: the one tree of version 2, or the named ones of version 1."""
    if (_ROOT / "cgroup.controllers").exists():
        return [_ROOT]
    return [path for path in (_ROOT / "unified", _ROOT / "systemd") if path.is_dir()]


async def groups_make(machine: str) -> list[Path]:
    """Fresh groups for the machine.

    The kernel takes a moment to let go of processes that were killed, and their group stays for so
    long. In one tree only, it would be taken for whole: systemd-nspawn makes no group in the second
    tree where the first has it, and the machine dies as it boots.
    """
    deadline = asyncio.get_running_loop().time() + _EMPTY_PATIENCE
    while groups_left(machine):
        groups_remove(machine)
        if asyncio.get_running_loop().time() > deadline:
            raise BootFailed(f"what ran on {machine} before still holds its control group")
        await asyncio.sleep(0.02)
    groups = [tree / f"{_PREFIX}{machine}" for tree in hierarchies()]
    for group in groups:
        group.mkdir()
    return groups


def groups_remove(scope: str) -> None:
    """Remove the groups of the machines in scope, those that are empty."""
    for group in groups_left(scope):
        _remove(group)


def groups_left(scope: str) -> list[Path]:
    """Groups of the machines in scope that still exist."""
    present = (path for tree in hierarchies() for path in tree.glob(f"{_PREFIX}*"))
    return [path for path in present if names.in_scope(path.name.removeprefix(_PREFIX), scope)]


def _remove(group: Path) -> None:
    for child in group.iterdir():
        if child.is_dir():
            _remove(child)
    with contextlib.suppress(OSError):
        group.rmdir()
