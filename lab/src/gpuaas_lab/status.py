"""What a lab looks like right now, as data. Read by `gpuaas-lab status` and by programs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from gpuaas_lab import names, processes, store, teardown
from gpuaas_lab.settings import Settings
from gpuaas_lab.store import Cut, LabRecord


@dataclass(frozen=True)
class MachineStatus:
    """One machine."""

    name: str
    address: str
    power: str
    memory: int
    processes: int
    gpus: int
    skew: int
    cuts: tuple[str, ...]
    host_key: str


@dataclass(frozen=True)
class LabStatus:
    """One lab."""

    name: str
    suite: str
    subnet: str
    host: str
    bridge: str
    machines: tuple[MachineStatus, ...]
    memory: int


def lab_status(settings: Settings, lab: str) -> LabStatus:
    """Look at a lab: the record for what was asked, the kernel for what is."""
    record = store.lab_load(settings, lab)
    found = sorted(processes.scan(names.machine_prefix(lab)), key=lambda process: process.machine)
    by_machine = {key: list(group) for key, group in groupby(found, lambda p: p.machine)}
    machines = tuple(
        _machine(record, machine.name, by_machine.get(names.machine_id(lab, machine.name), []))
        for machine in record.machines
    )
    return LabStatus(
        name=lab,
        suite=record.suite,
        subnet=record.subnet,
        host=str(record.host_address),
        bridge=names.bridge(lab),
        machines=machines,
        memory=sum(machine.memory for machine in machines),
    )


def labs_status(settings: Settings) -> list[LabStatus]:
    """Every lab that has a record."""
    known = teardown.labs_present(settings)
    return [lab_status(settings, name) for name in known if store.lab_exists(settings, name)]


def _machine(record: LabRecord, name: str, found: list[processes.LabProcess]) -> MachineStatus:
    known = record.machine(name)
    return MachineStatus(
        name=name,
        address=str(record.address(name)),
        power="on" if any(process.leader for process in found) else "off",
        memory=processes.memory(found),
        processes=len(found),
        gpus=known.gpus,
        skew=known.skew,
        cuts=tuple(_words(cut) for cut in record.cuts if name in (cut.source, cut.target)),
        host_key=known.host_key,
    )


def _words(cut: Cut) -> str:
    return f"{cut.source} → {cut.target}" if cut.target else "cut off"
