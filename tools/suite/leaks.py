"""What tests left behind on the host: processes, machines, networks, mounts, units, folders.

    before = HostState.read()
    …
    left = leftovers(run, before)

Only what appeared during the run counts, and nothing of a lab that another living program holds.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gpuaas_lab import Settings, store, teardown
from gpuaas_lab.errors import LabBusy
from gpuaas_lab.locks import locked
from tools.suite.run import Run

PATIENCE_S: Final = 30.0
"""Processes that were asked to end, and the kernel's networks, take a moment."""
_UNITS: Final = (Path("/etc/systemd/system"), Path("/run/systemd/system"))
_PYTEST: Final = "pytest-of-"
"""What pytest itself keeps of its last runs, for whoever looks into a failure."""


@dataclass(frozen=True)
class HostState:
    """What is there on the host that a test could add to."""

    interfaces: frozenset[str] = field(default_factory=frozenset)
    mounts: frozenset[str] = field(default_factory=frozenset)
    units: frozenset[str] = field(default_factory=frozenset)
    labs: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def read(cls) -> HostState:
        """Look at the host."""
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        return cls(
            interfaces=frozenset(os.listdir("/sys/class/net")),  # noqa: PTH208 - names alone
            mounts=frozenset(line.split()[1] for line in mounts),
            units=frozenset(str(path) for place in _UNITS for path in _entries(place)),
            labs=frozenset(_labs()),
        )


def killed_labs_remove() -> list[str]:
    """Remove the labs of programs that are no longer there; return their names."""
    if os.geteuid() != 0:
        return []  # labs are root's
    return asyncio.run(teardown.orphans_remove(Settings.from_environment()))


def leftovers(run: Run, before: HostState) -> list[str]:
    """One line for each thing the run left, after giving it a moment to go."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := _look(run, before)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def _look(run: Run, before: HostState) -> list[str]:
    now = HostState.read()
    others = [name for name in now.labs if asyncio.run(_held(name))]
    theirs = [teardown.leftovers(name) for name in others]
    interfaces = {one for lab in theirs for one in lab.interfaces}
    mounts = {one for lab in theirs for one in lab.mounts}
    kept = {path.name for path in _entries(run.temporary) if not path.name.startswith(_PYTEST)}
    found = {
        "process": {f"{pid}: {command}" for pid, command in run.processes().items()},
        "lab": now.labs - before.labs - set(others),
        "network interface": now.interfaces - before.interfaces - interfaces,
        "mount": now.mounts - before.mounts - mounts,
        "unit": now.units - before.units,
        "temporary file": kept,
    }
    return [f"{kind} {one}" for kind, many in found.items() for one in sorted(many)]


def _entries(place: Path) -> list[Path]:
    return sorted(place.iterdir()) if place.is_dir() else []


def _labs() -> list[str]:
    try:
        return teardown.labs_present(Settings.from_environment())
    except PermissionError:
        return []  # labs are root's


async def _held(name: str) -> bool:
    """Whether a lab belongs to a living program, or to a person who brought it up by hand."""
    settings = Settings.from_environment()
    owner = store.owner_lock(settings, name)
    if not owner.exists():
        return store.lab_exists(settings, name) and not store.lab_load(settings, name).scoped
    try:
        async with locked(owner, f"lab {name}", patience=0):
            return False
    except LabBusy:
        return True
