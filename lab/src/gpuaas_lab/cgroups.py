"""A control group per machine, where no service manager on the host makes one.

Called at boot and by `down`. systemd in a machine owns the group it finds itself in: two machines
in one group would count each other's processes as their own and wait for them at every stop. On a
host that runs systemd the machine gets a unit, and with it a group, so nothing is done here.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from gpuaas_lab import names

_ROOT = Path("/sys/fs/cgroup")
# Not below a common group: labs come and go at the same time, and the last one out would remove it
# under the feet of the next one in.
_PREFIX = "gpuaas-lab-"


def host_systemd() -> bool:
    """Whether systemd is the host's process 1."""
    return Path("/run/systemd/system").is_dir()


def hierarchies() -> list[Path]:
    """Where systemd keeps its groups: the one tree of version 2, or the named ones of version 1."""
    if (_ROOT / "cgroup.controllers").exists():
        return [_ROOT]
    return [path for path in (_ROOT / "unified", _ROOT / "systemd") if path.is_dir()]


def groups_make(machine: str) -> list[Path]:
    """Fresh groups for the machine."""
    groups = [tree / f"{_PREFIX}{machine}" for tree in hierarchies()]
    for group in groups:
        group.mkdir(exist_ok=True)
    return groups


def groups_remove(scope: str) -> None:
    """Remove the groups of the machines in scope; they must be empty."""
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
