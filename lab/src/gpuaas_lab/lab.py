"""A lab: named machines on a bridge of their own. The Python API starts here.

    async with Lab.up("tests", 2, suite="bookworm") as lab:
        await lab.machine("n1").run("hostname")

Used by the command, the demo and system tests. Every change is made under the lab's lock, and every
change can be repeated. It must know nothing of what runs on the machines.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from gpuaas_lab import (
    clock,
    depot,
    doctor,
    gpus,
    inside,
    layers,
    names,
    network,
    nspawn,
    partition,
    processes,
    provision,
    ssh,
    store,
    teardown,
)
from gpuaas_lab.errors import BootFailed, CommandFailed, LabError, MachineOff
from gpuaas_lab.locks import locked
from gpuaas_lab.machine import Machine
from gpuaas_lab.packages import PackageSet
from gpuaas_lab.settings import Settings
from gpuaas_lab.store import Cut, LabRecord

BOOT_PATIENCE = 120.0

Tell = Callable[[str, str], None]
"""Told what happens: a subject (a machine's name, or `lab`) and one line."""


def _silent(_subject: str, _line: str) -> None:
    return


class Lab:
    """A handle on one lab that is up."""

    def __init__(self, settings: Settings, record: LabRecord, tell: Tell = _silent) -> None:
        self.settings = settings
        self.record = record
        self._tell = tell
        self._connections: dict[str, ssh.Connection] = {}

    @classmethod
    @asynccontextmanager
    async def up(
        cls,
        name: str,
        count: int,
        *,
        suite: str | None = None,
        packages: PackageSet | None = None,
        settings: Settings | None = None,
    ) -> AsyncIterator[Lab]:
        """A lab for the length of a block: fresh at its start, gone at its end.

        With `packages` its machines have these installed, and nothing of them was started.

        What an earlier program of the same name left behind when it was killed is removed first.
        A lab that somebody brought up by hand, or that another program holds, is left alone.
        """
        settings = settings or Settings.from_environment()
        owner = store.owner_lock(settings, name)
        async with locked(owner, f"lab {name}, held by another program,", patience=0):
            if store.lab_exists(settings, name) and not store.lab_load(settings, name).scoped:
                raise LabError(f"lab {name} is up already", f"gpuaas-lab down --name {name}")
            await teardown.lab_remove(settings, name)
            try:
                wish = provision.Wish(name, count, suite, scoped=True, packages=packages)
                lab = await cls._start(settings, wish)
                try:
                    yield lab
                finally:
                    await lab.close()
            finally:
                await teardown.lab_remove(settings, name)
                owner.unlink(missing_ok=True)

    @classmethod
    async def start(
        cls,
        name: str,
        count: int,
        *,
        suite: str | None = None,
        settings: Settings | None = None,
        tell: Tell = _silent,
    ) -> Lab:
        """Bring the lab to at least `count` machines, all booted; it stays until `down`."""
        settings = settings or Settings.from_environment()
        return await cls._start(settings, provision.Wish(name, count, suite), tell)

    @classmethod
    async def _start(cls, settings: Settings, wish: provision.Wish, tell: Tell = _silent) -> Lab:
        doctor.host_require()
        async with locked(store.lab_lock(settings, wish.name), f"lab {wish.name}"):
            record, fresh = await provision.lab_provision(
                settings, wish, lambda line: tell("lab", line)
            )
            lab = cls(settings, record, tell)
            await network.bridge_ensure(record)
            if fresh:
                await lab._hosts_update()
            await lab._boot_all([machine.name for machine in record.machines])
        return lab

    @classmethod
    async def found(cls, name: str, *, suite: str | None, settings: Settings | None = None) -> Lab:
        """A lab with the machines it has, or a new one without any; `add` gives it some."""
        settings = settings or Settings.from_environment()
        doctor.host_require()
        async with locked(store.lab_lock(settings, name), f"lab {name}"):
            wish = provision.Wish(name, 0, suite)
            return cls(settings, await provision.lab_found(settings, wish, lambda _line: None))

    @classmethod
    async def attach(cls, name: str, settings: Settings | None = None) -> Lab:
        """A handle on a lab that exists."""
        settings = settings or Settings.from_environment()
        return cls(settings, store.lab_load(settings, name))

    @staticmethod
    async def down(name: str, settings: Settings | None = None) -> bool:
        """Remove every trace of the lab; false when there was none."""
        return await teardown.lab_remove(settings or Settings.from_environment(), name)

    @property
    def name(self) -> str:
        """The lab's name."""
        return self.record.name

    @property
    def host_address(self) -> str:
        """Where machines reach the host."""
        return str(self.record.host_address)

    @property
    def machines(self) -> list[Machine]:
        """A handle on every machine, in order."""
        return [self.machine(record.name) for record in self.record.machines]

    @property
    def layer(self) -> Path | None:
        """What machines have beside the image, from the start."""
        return store.lab_layer(self.settings, self.name)

    @property
    def key(self) -> Path:
        """The private key that opens root on every machine of the lab."""
        return provision.key_path(self.settings, self.name)

    def machine(self, name: str) -> Machine:
        """A handle on one machine."""
        return Machine(self, name, self._connection(name))

    async def close(self) -> None:
        """Drop the pooled connections; the machines stay."""
        connections, self._connections = self._connections, {}
        await asyncio.gather(*(connection.close() for connection in connections.values()))

    async def add(self, machine: str) -> Machine:
        """A machine of this name, on and known to the others; one that is there is kept."""
        async with self._changing():
            if machine not in {known.name for known in self.record.machines}:
                self.record = await provision.machine_add(self.settings, self.record, machine)
            await network.bridge_ensure(self.record)
            await self._hosts_update()
            await self._boot_all([machine])
        return self.machine(machine)

    async def remove(self, machine: str) -> None:
        """Take a machine away with its disk; one that is gone is no failure."""
        async with self._changing():
            await teardown.machine_remove(self.settings, self.name, machine)
            self.record = provision.machine_drop(self.settings, self.record, machine)
            await self._hosts_update()
        connection = self._connections.pop(machine, None)
        if connection is not None:
            await connection.close()

    async def boot(self, *machines: str) -> None:
        """Power machines on and wait for SSH; those that are on are left alone."""
        async with self._changing():
            await network.bridge_ensure(self.record)
            await self._boot_all(machines)

    async def pull_plug(self, machine: str) -> None:
        """Power a machine off at once: no shutdown, nothing is told."""
        async with self._changing():
            self.record.machine(machine)
            await teardown.machine_off(self.name, machine)
            await self._connection(machine).close()

    async def cut(self, source: str, target: str | None = None) -> None:
        """Drop a machine's traffic, or only what it sends to one other member of the lab."""
        wanted = Cut(source, target or "")
        async with self._changing():
            self._members_known(wanted)
            if wanted not in self.record.cuts:
                await self._recut((*self.record.cuts, wanted))

    async def heal(self, source: str, target: str | None = None) -> None:
        """Undo a cut; without a target, every cut the machine is part of."""
        async with self._changing():
            self._members_known(Cut(source, target or ""))
            kept = tuple(cut for cut in self.record.cuts if not _heals(cut, source, target))
            await self._recut(kept)

    async def skew(self, machine: str, seconds: int) -> None:
        """Shift the wall clock a machine's programs see."""
        async with self._changing():
            known = self.record.machine(machine)
            await clock.skew(self.name, machine, seconds)
            self._save(self.record.with_machine(replace(known, skew=seconds)))
        # A session inherits its environment from its connection's login.
        await self._connection(machine).close()

    async def fake_gpus(self, machine: str, count: int) -> None:
        """Give a machine fake GPUs, or take them away with 0."""
        async with self._changing():
            known = self.record.machine(machine)
            await gpus.install(self.name, machine, count)
            self._save(self.record.with_machine(replace(known, gpus=count)))

    async def install(
        self, machines: Iterable[str], wanted: PackageSet, *, start: bool = True
    ) -> None:
        """Install a package set on machines, all at once; `start` lets its daemons start."""
        chosen = [self.machine(name) for name in machines]
        await depot.install(chosen, wanted, self.host_address, start=start)

    def running(self) -> set[str]:
        """The machines that are powered on."""
        prefix = names.machine_prefix(self.name)
        return {identity.removeprefix(prefix) for identity in processes.leaders(prefix)}

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        async with locked(store.lab_lock(self.settings, self.name), f"lab {self.name}"):
            self.record = store.lab_load(self.settings, self.name)
            yield

    async def _boot_all(self, machines: Iterable[str]) -> None:
        wanted = [self.record.machine(machine).name for machine in machines]
        prefix = names.machine_prefix(self.name)
        present = {process.machine for process in await asyncio.to_thread(processes.scan, prefix)}
        nspawn.limits_raise()
        off = [name for name in wanted if names.machine_id(self.name, name) not in present]
        await _together(self._boot_one(name, power=name in off) for name in wanted)

    async def _boot_one(self, machine: str, *, power: bool) -> None:
        if power:
            self._tell(machine, "powering on")
            folder = store.machine_folder(self.settings, self.name, machine)
            await nspawn.boot(nspawn.Boot(self.name, machine, self._below(), folder))
        if any(machine in (cut.source, cut.target) for cut in self.record.cuts):
            await self._cable_wait(machine)
            await self._cut_apply(machine)
        if _unreachable(machine, self.record.cuts):
            await self._inside_wait(machine)
            self._tell(machine, "on, and cut off")
            return
        await self._answer_wait(machine)
        if self.layer is not None:
            await inside.script(self.name, machine, layers.WAKE_SCRIPT)
        self._tell(machine, "answers SSH")

    def _below(self) -> tuple[Path, ...]:
        """What machines' own disks lie above."""
        image, layer = Path(self.record.image), self.layer
        return (image,) if layer is None else (layers.layer_root(layer), image)

    async def _answer_wait(self, machine: str) -> None:
        identity = names.machine_id(self.name, machine)

        async def alive() -> bool:
            return bool(await asyncio.to_thread(processes.scan, identity))

        try:
            await self._connection(machine).wait(BOOT_PATIENCE, alive)
        except BootFailed as error:
            folder = store.machine_folder(self.settings, self.name, machine)
            said = nspawn.console_tail(folder)
            raise BootFailed(f"{error.message}; its console says: {said}") from error

    async def _inside_wait(self, machine: str) -> None:
        """The same for a machine that the host cannot reach: asked from inside."""
        async with asyncio.timeout(BOOT_PATIENCE):
            while True:
                with contextlib.suppress(MachineOff, CommandFailed):
                    await inside.script(self.name, machine, "systemctl is-active ssh ssh.socket")
                    return
                await asyncio.sleep(0.1)

    async def _cable_wait(self, machine: str) -> None:
        for _attempt in range(3000):
            if network.cable_present(self.name, machine):
                return
            await asyncio.sleep(0.01)
        raise BootFailed(f"{machine} has no network cable 30 s after it was powered on")

    async def _recut(self, cuts: tuple[Cut, ...]) -> None:
        touched = {
            member
            for cut in set(cuts) ^ set(self.record.cuts)
            for member in (cut.source, cut.target)
        }
        previous = self.record
        self.record = replace(previous, cuts=cuts)
        plugged = [m for m in touched if m and network.cable_present(self.name, m)]
        try:
            await asyncio.gather(*(self._cut_apply(machine) for machine in plugged))
        except LabError:
            self.record = previous
            raise
        self._save(self.record)

    async def _cut_apply(self, machine: str) -> None:
        filters = partition.filters(self.name, machine, self.record.cuts)
        await network.filters_apply(self.name, machine, filters)

    async def _hosts_update(self) -> None:
        block = provision.hosts_text(self.record)
        prefix = names.machine_prefix(self.name)
        running = await asyncio.to_thread(processes.leaders, prefix)
        await asyncio.gather(
            *(inside.script_at(pid, provision.HOSTS_SCRIPT, block) for pid in running.values())
        )

    def _members_known(self, cut: Cut) -> None:
        if cut.source == names.HOST and not cut.target:
            raise LabError("the host itself cannot be cut off", "say from whom: cut host --to n1")
        for member in (cut.source, cut.target):
            if member and member != names.HOST:
                self.record.machine(member)

    def _connection(self, machine: str) -> ssh.Connection:
        if machine not in self._connections:
            known = self.record.machine(machine)
            address = str(self.record.address(machine))
            door = ssh.Door(machine, address, known.host_key, self.key)
            self._connections[machine] = ssh.Connection(door)
        return self._connections[machine]

    def _save(self, record: LabRecord) -> None:
        store.lab_save(self.settings, record)
        self.record = record


async def _together(work: Iterable[Coroutine[None, None, None]]) -> None:
    """Run everything at once; the first failure ends the rest and is the one that is told."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for item in work:
                tasks.create_task(item)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from group


def _heals(cut: Cut, source: str, target: str | None) -> bool:
    if target is None:
        return source in (cut.source, cut.target)
    return cut == Cut(source, target)


def _unreachable(machine: str, cuts: Iterable[Cut]) -> bool:
    walls = (Cut(machine), Cut(machine, names.HOST), Cut(names.HOST, machine))
    return any(cut in walls for cut in cuts)
