"""Take a lab or a machine away, whole.

Called by `down`, by the end of a `Lab.up` block and by pull-plug. It goes by what the kernel shows,
not by the lab's files, so it also works after the lab's process was killed or its state was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_lab import cgroups, names, network, process, processes, store
from gpuaas_lab.errors import LabBusy, LabError
from gpuaas_lab.locks import locked
from gpuaas_lab.settings import Settings

_NSPAWN_FOLDERS = (Path("/run/systemd/nspawn/propagate"), Path("/run/systemd/nspawn/unix-export"))
_ALIAS = "gpuaas-lab:"
_GONE_PATIENCE = 60.0
_BIN = ".removing"


@dataclass(frozen=True)
class Leftovers:
    """What exists of a lab right now, as the kernel sees it."""

    processes: list[int] = field(default_factory=list)
    mounts: list[str] = field(default_factory=list)
    interfaces: list[str] = field(default_factory=list)
    cgroups: list[str] = field(default_factory=list)

    def any(self) -> bool:
        """Whether anything is there."""
        return bool(self.processes or self.mounts or self.interfaces or self.cgroups)


def leftovers(lab: str) -> Leftovers:
    """Look for the lab's processes, mounts, interfaces and control groups."""
    prefix = names.machine_prefix(lab)
    return Leftovers(
        processes=sorted(found.pid for found in processes.scan(prefix)),
        mounts=_mounts(prefix),
        interfaces=network.interfaces(lab),
        cgroups=[str(path) for path in cgroups.groups_left(prefix)],
    )


async def lab_remove(settings: Settings, lab: str) -> bool:
    """Remove every trace of a lab; false when there was nothing to remove."""
    names.lab_name(lab)
    async with locked(store.lab_lock(settings, lab), f"lab {lab}"):
        folder = store.lab_folder(settings, lab)
        before = await asyncio.to_thread(leftovers, lab)
        stopped = _in_bin(settings, lab)
        if not before.any() and not folder.exists() and not stopped:
            store.lab_lock(settings, lab).unlink(missing_ok=True)
            return False
        await _power_off(names.machine_prefix(lab))
        await network.interfaces_delete(lab)
        await _disks_remove(settings, lab)
        await _prove_gone(lab)
        store.lab_lock(settings, lab).unlink(missing_ok=True)
    await _owner_forget(settings, lab)
    return True


async def machine_off(lab: str, machine: str) -> None:
    """Power one machine off and unplug its cable."""
    await _power_off(names.machine_id(lab, machine))
    # The kernel keeps a dead machine's network while a connection of it waits for an answer, and
    # one that is cut off waits for long.
    await network.interface_delete(names.veth(lab, machine))


async def machine_remove(settings: Settings, lab: str, machine: str) -> None:
    """Power one machine off and remove its disk: its name goes first."""
    await machine_off(lab, names.machine_name(machine))
    folder = store.machine_folder(settings, lab, machine)
    bin_folder = folder.with_name(f".{machine}.{time.time_ns()}")
    with contextlib.suppress(FileNotFoundError):
        folder.rename(bin_folder)
    gone = sorted(folder.parent.glob(f".{machine}.*"))  # also what was not finished before
    if gone:
        await process.output("rm", "-rf", "--one-file-system", "--", *gone)


def labs_present(settings: Settings) -> list[str]:
    """Every lab of this host: those with a folder, and those only a bridge still tells of."""
    # Not glob, which would take a folder it may not read for an empty one.
    places = settings.state.iterdir() if settings.state.exists() else ()
    folders = (path.name for path in places if path.is_dir())
    found = {name for name in folders if not name.startswith(".")}
    for alias in Path("/sys/class/net").glob("glab-*/ifalias"):
        with contextlib.suppress(OSError):
            text = alias.read_text().strip()
            found |= {text.removeprefix(_ALIAS)} if text.startswith(_ALIAS) else set()
    return sorted(found)


async def orphans_remove(settings: Settings) -> list[str]:
    """Remove every lab that belonged to a program which is no longer there; return their names."""
    gone = []
    for record in list(store.lab_list(settings)):
        owner = store.owner_lock(settings, record.name)
        if not record.scoped:
            continue
        with contextlib.suppress(LabBusy):
            async with locked(owner, f"lab {record.name}", patience=0):
                await lab_remove(settings, record.name)
                owner.unlink(missing_ok=True)
                gone.append(record.name)
    return gone


async def _disks_remove(settings: Settings, lab: str) -> None:
    """Remove the lab's folder: its name goes first, so that half a lab is never found under it."""
    folder, bin_folder = store.lab_folder(settings, lab), settings.state / _BIN
    while folder.exists():
        bin_folder.mkdir(exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):  # another lab has just cleared the bin away
            folder.rename(bin_folder / f"{lab}.{time.time_ns()}")
    # Also what an earlier `down` could not finish.
    gone = _in_bin(settings, lab)
    await process.output("rm", "-rf", "--one-file-system", "--", *gone)
    with contextlib.suppress(OSError):
        bin_folder.rmdir()  # another lab may be on its way out


def _in_bin(settings: Settings, lab: str) -> list[Path]:
    """What was taken out of a lab's way; whoever is last clears the bin away, also meanwhile."""
    try:
        return sorted((settings.state / _BIN).glob(f"{lab}.*"))
    except FileNotFoundError:
        return []


async def _owner_forget(settings: Settings, lab: str) -> None:
    """Remove the owner's lock file, unless an owner is alive: then it is theirs to remove."""
    owner = store.owner_lock(settings, lab)
    with contextlib.suppress(LabBusy):
        async with locked(owner, f"lab {lab}", patience=0):
            owner.unlink(missing_ok=True)


async def _power_off(scope: str) -> None:
    await processes.machine_kill(scope)
    for mount in _mounts(scope):
        await process.output("umount", "--lazy", mount)
    cgroups.groups_remove(scope)
    for parent in _NSPAWN_FOLDERS:
        for path in parent.glob("gl*"):
            if names.in_scope(path.name, scope):
                shutil.rmtree(path, ignore_errors=True)


def _mounts(scope: str) -> list[str]:
    pattern = re.compile(rf"^{names.mount_source('')}(\S+) (\S+) ", re.MULTILINE)
    found = pattern.findall(Path("/proc/self/mounts").read_text())
    return [path for identity, path in found if names.in_scope(identity, scope)]


async def _prove_gone(lab: str) -> None:
    left = leftovers(lab)
    # A network namespace is torn down by the kernel a little after its last process.
    deadline = time.monotonic() + _GONE_PATIENCE
    while time.monotonic() < deadline:
        if not left.any():
            return
        await asyncio.sleep(0.02)
        left = await asyncio.to_thread(leftovers, lab)
        cgroups.groups_remove(names.machine_prefix(lab))
    raise LabError(f"lab {lab} could not be removed whole: {left}")
