"""Lab machines made to order: a plug-in for whoever gives machines out.

Loaded by name through the entry point `lab` of the group `gpuaas.providers`; plain values go in and
come out. The work is done by a process of its own (`python -m gpuaas_lab.provider`), so that
whoever loads this has no machines for children. A machine belongs to an allocation, by a line in
the lab's `orders.json`, and is found again by it: every call can be repeated after a crash.

Options: `lab` (its name) and `suite`. What a machine's sshd trusts comes with the order.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncssh

from gpuaas_lab import addresses, names, store
from gpuaas_lab.errors import HostNotReady, LabError
from gpuaas_lab.lab import Lab
from gpuaas_lab.locks import locked
from gpuaas_lab.machine import Machine
from gpuaas_lab.provider_batch import Batches
from gpuaas_lab.settings import Settings
from gpuaas_lab.sshd_trust import trust_put

_TRUST_SECONDS = 15.0
_TRUST_PARALLEL = 32


class ProviderError(LabError):
    """A machine cannot be made, and trying again would not help."""

    permanent = True


def provider() -> LabProvider:
    """The plug-in."""
    return LabProvider()


class LabProvider:
    """Has lab machines made and taken away, each by a process that ends when it is done."""

    def __init__(self) -> None:
        self._trust = Batches("trust", _failure)

    async def machine_make(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make the machine of an allocation, or find it; it answers SSH and trusts the platform."""
        return await self._done("make", order)

    async def machine_unmake(self, order: Mapping[str, Any]) -> None:
        """Take the machine of an allocation away with its disk; with the last one, the lab."""
        await self._done("unmake", order)

    async def machine_trust(self, order: Mapping[str, Any]) -> None:
        """Have the machine's sshd trust exactly what the order says; many at once are one step."""
        await self._trust.done(order)

    async def _done(self, what: str, order: Mapping[str, Any]) -> Mapping[str, Any]:
        # Files without a name: a pipe's end would be held open by a machine that is powered on, and
        # a killed process leaves nothing of these behind.
        with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as answer:
            json.dump(order, given)
            given.seek(0)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gpuaas_lab.provider", what, str(answer.fileno())),
                stdin=given,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(answer.fileno(),),
            )
            try:
                status = await process.wait()
            except asyncio.CancelledError:
                process.terminate()
                await process.wait()
                raise
            answer.seek(0)
            text = answer.read()
        if not text:
            raise LabError(f"the lab's process ended with {status} and said nothing")
        said: dict[str, Any] = json.loads(text)
        failure = _failure(said)
        if failure is not None:
            raise failure
        return said


def _failure(said: Mapping[str, Any]) -> LabError | None:
    """What went wrong, by what a process said; None: nothing."""
    if "error" not in said:
        return None
    return (ProviderError if said["permanent"] else LabError)(said["error"])


class Workbench:
    """Makes lab machines and takes them away, in this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def machine_make(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make the machine of an allocation, or find it; it answers SSH and trusts the platform."""
        options = order["options"]
        name = _lab_name(options)
        try:
            lab = await Lab.found(name, suite=options.get("suite"), settings=self._settings)
        except HostNotReady as error:
            raise ProviderError(str(error)) from error
        try:
            machine = await lab.add(await self._named(name, order["allocation_id"]))
            gpus = int(order["sku"].get("gpus", 0))
            if gpus:
                await machine.fake_gpus(gpus)
            if "trust" in order:
                await _told_whom_to_trust(machine, order)
            key = " ".join(machine.host_key.split()[:2])
            return {"address": str(machine.address), "host_keys": [key]}
        finally:
            await lab.close()

    async def machine_unmake(self, order: Mapping[str, Any]) -> None:
        """Take the machine of an allocation away with its disk; with the last one, the lab."""
        try:
            name, allocation = _lab_name(order["options"]), order["allocation_id"]
        except ProviderError:
            return  # nothing could ever be made under that name
        if not store.lab_exists(self._settings, name):
            return
        async with self._orders(name) as orders:
            machine = orders.get(allocation)
        if machine is None:
            return
        lab = await Lab.attach(name, self._settings)
        try:
            await lab.remove(machine)
        finally:
            await lab.close()
        async with self._orders(name) as orders:
            orders.pop(allocation, None)
            empty = not orders and not store.lab_load(self._settings, name).machines
        if empty:
            await Lab.down(name, self._settings)

    async def machine_trust(self, order: Mapping[str, Any]) -> None:
        """Have the machine's sshd trust exactly what the order says."""
        name, allocation = _lab_name(order["options"]), order["allocation_id"]
        async with self._orders(name) as orders:
            machine = orders.get(allocation)
        if machine is None:
            raise LabError(f"lab {name} has no machine for {allocation}")
        lab = await Lab.attach(name, self._settings)
        try:
            await _told_whom_to_trust(lab.machine(machine), order)
        finally:
            await lab.close()

    async def _named(self, lab: str, allocation: str) -> str:
        """The machine of an allocation: the one it has, or the first free name."""
        async with self._orders(lab) as orders:
            known = {machine.name for machine in store.lab_load(self._settings, lab).machines}
            taken = known | set(orders.values())
            numbers = range(1, addresses.MOST_MACHINES + 1)
            free = next((f"n{number}" for number in numbers if f"n{number}" not in taken), None)
            if allocation not in orders:
                if free is None:
                    raise LabError(f"lab {lab} has no room for another machine")
                orders[allocation] = free
            return orders[allocation]

    @asynccontextmanager
    async def _orders(self, lab: str) -> AsyncIterator[dict[str, str]]:
        """Which allocation has which machine; what the block changes is written at its end."""
        path = store.lab_folder(self._settings, lab) / "orders.json"
        lock = self._settings.state / ".locks" / f"{lab}.orders"
        async with locked(lock, f"the orders of lab {lab}"):
            orders: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
            before = dict(orders)
            yield orders
            if orders != before:
                draft = path.with_name(".orders.json")
                draft.write_text(json.dumps(orders, indent=2) + "\n")
                draft.replace(path)


def _lab_name(options: Mapping[str, Any]) -> str:
    name = options.get("lab")
    if not isinstance(name, str):
        raise ProviderError("the region's provider_options name no lab")
    try:
        return names.lab_name(name)
    except LabError as error:
        raise ProviderError(error.message) from error


async def _told_whom_to_trust(machine: Machine, order: Mapping[str, Any]) -> None:
    try:
        async with asyncio.timeout(_TRUST_SECONDS):
            await trust_put(machine, order["allocation_id"], order["trust"])
    except (OSError, TimeoutError, asyncssh.Error) as error:
        said = str(error) or "it is off, or cut off"
        raise LabError(f"{machine.name} does not answer SSH: {said}") from error


def main(arguments: list[str]) -> int:
    """`make|unmake ANSWER` with an order as its input and the number of a file for the answer.

    Or `trust` with a list of orders as its input.
    """
    bench = Workbench(Settings.from_environment())
    if arguments == ["trust"]:
        asyncio.run(_trusted(bench, json.load(sys.stdin)))
        return 0
    what, answer = arguments[0], int(arguments[1])
    said = asyncio.run(_told(_worked(bench, what, json.load(sys.stdin))))
    with open(answer, "w") as file:
        json.dump(said, file)
    return 1 if "error" in said else 0


async def _worked(bench: Workbench, what: str, order: dict[str, Any]) -> Mapping[str, Any]:
    if what == "make":
        return await bench.machine_make(order)
    await bench.machine_unmake(order)
    return {}


async def _trusted(bench: Workbench, orders: list[dict[str, Any]]) -> None:
    """Tell all machines at once; a line for each as soon as it has answered."""
    hands = asyncio.Semaphore(_TRUST_PARALLEL)

    async def one(number: int, order: dict[str, Any]) -> None:
        async with hands:
            said = await _told(_nothing(bench.machine_trust(order)))
        print(json.dumps({"order": number, **said}), flush=True)  # noqa: T201 - whoever asked reads it

    await asyncio.gather(*(one(number, order) for number, order in enumerate(orders)))


async def _nothing(work: Awaitable[None]) -> Mapping[str, Any]:
    await work
    return {}


async def _told(work: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What work answered, or what went wrong, for whoever asked."""
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - whoever asked is told, whatever it was
        text = error.message if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
        return {"error": text, "permanent": isinstance(error, ProviderError)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
