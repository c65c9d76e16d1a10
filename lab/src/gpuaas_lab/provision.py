"""Make a lab's record and its machines' disks: everything that happens before power-on.

Called by `Lab.start`, under the lab's lock. Repeatable: what exists is kept, what is missing is
made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from pathlib import Path

import asyncssh

from gpuaas_lab import addresses, layers, names, network, seed, sources, store
from gpuaas_lab.errors import LabError
from gpuaas_lab.image import Image, image_ensure
from gpuaas_lab.locks import locked
from gpuaas_lab.packages import PackageSet
from gpuaas_lab.settings import Settings
from gpuaas_lab.store import LabRecord, MachineRecord

# $1: the block. Runs inside a machine; sed keeps every line that is not the lab's.
HOSTS_SCRIPT = f"""
umask 022
{{ sed '/^{seed.HOSTS_BEGIN}$/,/^{seed.HOSTS_END}$/d' /etc/hosts; printf '%s' "$1"; }} \\
  > /etc/hosts.gpuaas-lab
cat /etc/hosts.gpuaas-lab > /etc/hosts
rm /etc/hosts.gpuaas-lab
"""


@dataclass(frozen=True)
class Wish:
    """What somebody asked `up` for."""

    name: str
    count: int
    suite: str | None
    scoped: bool = False
    packages: PackageSet | None = None
    """What machines have beside the image, from the start."""


async def lab_provision(
    settings: Settings, wish: Wish, tell: Callable[[str], None]
) -> tuple[LabRecord, bool]:
    """The lab's record with at least the machines asked for, and whether any is new."""
    names.lab_name(wish.name)
    if not 1 <= wish.count <= addresses.MOST_MACHINES:
        raise LabError(f"a lab has 1 to {addresses.MOST_MACHINES} machines, not {wish.count}")
    record = await _record(settings, wish, tell)
    missing = [
        name
        for number in range(1, wish.count + 1)
        if (name := f"n{number}") not in {machine.name for machine in record.machines}
    ]
    if not missing:
        return record, False
    return await asyncio.to_thread(_add, settings, record, missing), True


async def lab_found(settings: Settings, wish: Wish, tell: Callable[[str], None]) -> LabRecord:
    """The lab's record, with the machines it has; none, where it is new."""
    names.lab_name(wish.name)
    return await _record(settings, wish, tell)


async def machine_add(settings: Settings, record: LabRecord, machine: str) -> LabRecord:
    """The record with one more machine, whose disk is whole."""
    return await asyncio.to_thread(_add, settings, record, [names.machine_name(machine)])


def machine_drop(settings: Settings, record: LabRecord, machine: str) -> LabRecord:
    """The record without a machine that is off and whose disk is gone."""
    left = tuple(known for known in record.machines if known.name != machine)
    cuts = tuple(cut for cut in record.cuts if machine not in (cut.source, cut.target))
    record = replace(record, machines=left, cuts=cuts)
    store.lab_save(settings, record)
    _known_hosts_write(settings, record)
    return record


def key_path(settings: Settings, lab: str) -> Path:
    """The private half of the lab's key."""
    return store.lab_folder(settings, lab) / "key"


def known_hosts_path(settings: Settings, lab: str) -> Path:
    """The pinned host keys, for OpenSSH's client."""
    return store.lab_folder(settings, lab) / "known_hosts"


def hosts_text(record: LabRecord) -> str:
    """The lab's block of /etc/hosts."""
    return seed.hosts_block(record)


async def _record(settings: Settings, wish: Wish, tell: Callable[[str], None]) -> LabRecord:
    if store.lab_exists(settings, wish.name):
        record = store.lab_load(settings, wish.name)
        if wish.suite not in (None, record.suite):
            raise LabError(
                f"lab {wish.name} runs {record.suite}, not {wish.suite}",
                "take it down first, or use another --name",
            )
        return record
    suite = wish.suite or sources.default_suite(sources.host_release())
    image = await image_ensure(settings, suite, tell)
    if wish.packages is not None:
        layer = await layers.layer_ensure(settings, image, wish.packages)
        store.lab_layer_set(settings, wish.name, layer)
    async with locked(store.range_lock(settings), "the address range"):
        return await _allocate(settings, wish, image)


async def _allocate(settings: Settings, wish: Wish, image: Image) -> LabRecord:
    name = wish.name
    others = list(store.lab_list(settings))
    clash = next((lab.name for lab in others if names.tag(lab.name) == names.tag(name)), None)
    if clash:
        raise LabError(f"the name {name} collides with lab {clash} in the kernel", "use another")
    used: list[IPv4Network] = [lab.network for lab in others]
    used += await network.networks_used()
    subnet = addresses.subnet_pick(name, settings.address_range, used)
    record = LabRecord(name, image.suite, str(image.root), str(subnet), scoped=wish.scoped)
    store.lab_save(settings, record)
    return record


def _add(settings: Settings, record: LabRecord, missing: list[str]) -> LabRecord:
    authorized = _lab_key(settings, record.name)
    keys = {name: seed.host_key_make(f"{record.name}/{name}") for name in missing}
    added = tuple(MachineRecord(name, keys[name].public) for name in missing)
    record = replace(record, machines=(*record.machines, *added))
    layer = store.lab_layer(settings, record.name)
    asleep = {} if layer is None else {layers.ASLEEP: layers.layer_asleep(layer)}
    for name in missing:
        folder = store.machine_folder(settings, record.name, name)
        seed.write(folder, seed.files(record, name, keys[name], authorized) | asleep)
    _known_hosts_write(settings, record)
    # Last: a machine that is in the record has a whole disk.
    store.lab_save(settings, record)
    return record


def _known_hosts_write(settings: Settings, record: LabRecord) -> None:
    lines = [f"{record.address(m.name)} {m.host_key}\n" for m in record.machines]
    known_hosts_path(settings, record.name).write_text("".join(lines))


def _lab_key(settings: Settings, lab: str) -> str:
    path = key_path(settings, lab)
    if not path.exists():
        key = asyncssh.generate_private_key("ssh-ed25519", comment=f"gpuaas-lab {lab}")
        draft = path.with_name(".key")
        draft.touch(mode=0o600)
        draft.write_bytes(key.export_private_key())
        path.with_name("key.pub").write_bytes(key.export_public_key())
        draft.replace(path)
    return path.with_name("key.pub").read_text().strip()
