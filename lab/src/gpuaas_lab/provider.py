"""Lab machines made to order: a plug-in for whoever gives machines out.

Loaded by name through the entry point `lab` of the group `gpuaas.providers`; plain values go in and
come out. The work is done by a process of its own (`python -m gpuaas_lab.provider`), so that
whoever loads this has no machines for children. A machine belongs to an allocation, by a line in
the lab's `orders.json`, and is found again by it: both calls can be repeated after a crash.

Options: `lab` (its name), `suite`, and `platform_url`, from where the machine's sshd gets the
authority it trusts and the revocation list.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from gpuaas_lab import addresses, names, store
from gpuaas_lab.errors import HostNotReady, LabError
from gpuaas_lab.lab import Lab
from gpuaas_lab.locks import locked
from gpuaas_lab.machine import Machine
from gpuaas_lab.settings import Settings

_SSHD = """TrustedUserCAKeys /etc/ssh/gpuaas_ca.pub
AuthorizedPrincipalsFile /etc/ssh/gpuaas_principals
RevokedKeys /etc/ssh/gpuaas.krl
"""
_SSHD_FILE = "/etc/ssh/sshd_config.d/gpuaas-provider.conf"
_ANSWER_SECONDS = 20


class ProviderError(LabError):
    """A machine cannot be made, and trying again would not help."""

    permanent = True


def provider() -> LabProvider:
    """The plug-in."""
    return LabProvider()


class LabProvider:
    """Has lab machines made and taken away, each by a process that ends when it is done."""

    async def machine_make(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make the machine of an allocation, or find it; it answers SSH and trusts the platform."""
        return await self._done("make", order)

    async def machine_unmake(self, order: Mapping[str, Any]) -> None:
        """Take the machine of an allocation away with its disk; with the last one, the lab."""
        await self._done("unmake", order)

    async def _done(self, what: str, order: Mapping[str, Any]) -> Mapping[str, Any]:
        with tempfile.TemporaryDirectory(prefix="gpuaas-lab-order-") as folder:
            # Not over a pipe: a machine that is powered on would hold its end open.
            given, answer = Path(folder) / "order.json", Path(folder) / "answer.json"
            given.write_text(json.dumps(order))
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gpuaas_lab.provider", what, given, answer),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                status = await process.wait()
            except asyncio.CancelledError:
                process.terminate()
                await process.wait()
                raise
            if not answer.exists():
                raise LabError(f"the lab's process ended with {status} and said nothing")
            said: dict[str, Any] = json.loads(answer.read_text())
        if "error" in said:
            raise (ProviderError if said["permanent"] else LabError)(said["error"])
        return said


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
            await _trust(machine, order["allocation_id"], options.get("platform_url"))
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


async def _trust(machine: Machine, principal: str, platform_url: object) -> None:
    """Have sshd take the platform's certificates for the allocation, and nobody else's."""
    if platform_url is None:
        return
    if urlsplit(str(platform_url)).scheme not in {"http", "https"}:
        raise ProviderError(f"platform_url is no address: {platform_url}")
    base = f"{str(platform_url).rstrip('/')}/api/v1/ssh"
    authority = json.loads(await asyncio.to_thread(_fetched, f"{base}/ca"))
    keys = "".join(f"{key['public_key']}\n" for key in authority["keys"])
    await machine.write("/etc/ssh/gpuaas_ca.pub", keys)
    await machine.write("/etc/ssh/gpuaas_principals", f"{principal}\n")
    await machine.write("/etc/ssh/gpuaas.krl", await asyncio.to_thread(_fetched, f"{base}/krl"))
    await machine.write(_SSHD_FILE, _SSHD)
    await machine.run("systemctl reload ssh")


def _fetched(url: str) -> bytes:
    with urlopen(url, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 - http or https, as the operator wrote
        return bytes(answer.read())


def main(arguments: list[str]) -> int:
    """`make|unmake ORDER ANSWER`, both files: do it, and write down what became of it."""
    what, given, answer = arguments[0], Path(arguments[1]), Path(arguments[2])
    bench, order = Workbench(Settings.from_environment()), json.loads(given.read_text())
    try:
        said = asyncio.run(_worked(bench, what, order))
    except Exception as error:  # noqa: BLE001 - whoever asked is told, whatever it was
        text = error.message if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
        said = {"error": text, "permanent": isinstance(error, ProviderError)}
    draft = answer.with_suffix(".new")
    draft.write_text(json.dumps(said))
    draft.replace(answer)
    return 1 if "error" in said else 0


async def _worked(bench: Workbench, what: str, order: dict[str, Any]) -> dict[str, Any]:
    if what == "make":
        return dict(await bench.machine_make(order))
    await bench.machine_unmake(order)
    return {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
