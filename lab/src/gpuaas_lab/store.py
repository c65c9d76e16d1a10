"""What the lab remembers between two commands: one JSON file per lab.

Only facts that cannot be read from the kernel are kept. Whether a machine runs is always asked of
the kernel, never of this file. Written under the lab's lock, whole and atomically.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from gpuaas_lab import addresses, names
from gpuaas_lab.errors import LabError, LabNotFound, MachineNotFound
from gpuaas_lab.settings import Settings

_VERSION = 1


@dataclass(frozen=True)
class MachineRecord:
    """One machine: its name, its pinned host key, and what was done to it."""

    name: str
    host_key: str
    gpus: int = 0
    skew: int = 0


@dataclass(frozen=True)
class Cut:
    """Traffic that is dropped: everything of `source`, or only what it sends to `target`."""

    source: str
    target: str = ""


@dataclass(frozen=True)
class LabRecord:
    """One lab."""

    name: str
    suite: str
    image: str
    subnet: str
    machines: tuple[MachineRecord, ...] = ()
    cuts: tuple[Cut, ...] = ()
    scoped: bool = False
    """Whether the lab belongs to a running program, which takes it down at its end."""
    version: int = field(default=_VERSION)

    @property
    def network(self) -> IPv4Network:
        """The lab's subnet."""
        return IPv4Network(self.subnet)

    @property
    def host_address(self) -> IPv4Address:
        """The host's address on the bridge."""
        return addresses.host_address(self.network)

    def address(self, machine: str) -> IPv4Address:
        """The address of a machine."""
        return addresses.machine_address(self.network, machine)

    def machine(self, name: str) -> MachineRecord:
        """The record of a machine."""
        for machine in self.machines:
            if machine.name == name:
                return machine
        known = ", ".join(machine.name for machine in self.machines) or "none"
        raise MachineNotFound(f"lab {self.name} has no machine {name!r}", f"it has: {known}")

    def with_machine(self, changed: MachineRecord) -> LabRecord:
        """The record with one machine replaced."""
        self.machine(changed.name)
        machines = tuple(changed if m.name == changed.name else m for m in self.machines)
        return replace(self, machines=machines)


def lab_folder(settings: Settings, lab: str) -> Path:
    """Where the lab's files are."""
    return settings.state / names.lab_name(lab)


def machine_folder(settings: Settings, lab: str, machine: str) -> Path:
    """Where the machine's disk is."""
    return lab_folder(settings, lab) / "machines" / machine


def lab_layer(settings: Settings, lab: str) -> Path | None:
    """What lies between the image and the machines' own disks, where anything does."""
    link = _layer_link(settings, lab)
    return link.readlink() if link.is_symlink() else None


def lab_layer_set(settings: Settings, lab: str, layer: Path) -> None:
    """Put a layer there, before the lab has a record.

    A link beside the record, so that who goes by the record alone still reads it: programs of
    several versions meet on one host.
    """
    link = _layer_link(settings, lab)
    link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    link.symlink_to(layer)


def lab_lock(settings: Settings, lab: str) -> Path:
    """The file whoever changes the lab holds. Outside the folder: `down` removes that."""
    return settings.state / ".locks" / names.lab_name(lab)


def owner_lock(settings: Settings, lab: str) -> Path:
    """The file the program that holds a lab for a while keeps locked until it ends."""
    return settings.state / ".locks" / f"{names.lab_name(lab)}.owner"


def range_lock(settings: Settings) -> Path:
    """The file whoever picks a subnet holds."""
    return settings.state / ".locks" / ".range"


def lab_exists(settings: Settings, lab: str) -> bool:
    """Whether the lab has a record."""
    return (lab_folder(settings, lab) / "lab.json").is_file()


def lab_load(settings: Settings, lab: str) -> LabRecord:
    """Read a lab's record."""
    path = lab_folder(settings, lab) / "lab.json"
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise LabNotFound(f"there is no lab {lab!r}", f"gpuaas-lab up 2 --name {lab}") from error
    if data.get("version") != _VERSION:
        raise LabError(f"lab {lab} was made by another version", f"gpuaas-lab down --name {lab}")
    machines = tuple(MachineRecord(**machine) for machine in data.pop("machines"))
    cuts = tuple(Cut(**cut) for cut in data.pop("cuts"))
    return LabRecord(**data, machines=machines, cuts=cuts)


def lab_save(settings: Settings, record: LabRecord) -> None:
    """Write a lab's record: a reader sees the old one or the new one."""
    folder = lab_folder(settings, record.name)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.state.chmod(0o700)
    draft = folder / ".lab.json"
    draft.write_text(json.dumps(asdict(record), indent=2) + "\n")
    draft.replace(folder / "lab.json")


def lab_list(settings: Settings) -> Iterator[LabRecord]:
    """Every lab with a record; one that goes down meanwhile is left out."""
    for path in sorted(settings.state.glob("*/lab.json")):
        with contextlib.suppress(LabNotFound):
            yield lab_load(settings, path.parent.name)


def _layer_link(settings: Settings, lab: str) -> Path:
    return lab_folder(settings, lab) / "layer"
