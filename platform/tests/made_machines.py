"""Machines made to order: a provider in memory that does as it is told, and its region."""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from eventually import eventually

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"


class Never(Exception):
    """Nothing that could be tried again."""

    permanent = True


@dataclass
class FakeMaker:
    """A provider in memory, that fails or waits where it is told to; it only makes machines."""

    machines: dict[str, str] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)
    stuck: list[Exception] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    orders: list[Mapping[str, Any]] = field(default_factory=list)

    async def machine_make(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make, after the gate is open."""
        self.orders.append(order)
        self.begun.set()
        await self.gate.wait()
        if self.failures:
            self.machines[order["allocation_id"]] = "half"
            raise self.failures.pop(0)
        self.machines[order["allocation_id"]] = "whole"
        return {"address": "10.0.0.7", "host_keys": [HOST_KEY]}

    async def machine_unmake(self, order: Mapping[str, Any]) -> None:
        """Take away."""
        if self.stuck:
            raise self.stuck.pop(0)
        self.machines.pop(order["allocation_id"], None)


@dataclass
class Fake(FakeMaker):
    """One that can tell its machines whom to let in as well."""

    told: list[Mapping[str, Any]] = field(default_factory=list)
    holds: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    off: set[str] = field(default_factory=set)
    frozen: dict[str, asyncio.Event] = field(default_factory=dict)

    async def machine_make(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make; the machine trusts from its first moment on."""
        made = await super().machine_make(order)
        self.holds[order["allocation_id"]] = order["trust"]
        return made

    async def machine_trust(self, order: Mapping[str, Any]) -> None:
        """Tell a machine that is on and not frozen."""
        allocation_id = order["allocation_id"]
        self.told.append(order)
        if allocation_id in self.frozen:
            await self.frozen[allocation_id].wait()
        if allocation_id in self.off:
            raise OSError("no route to host")
        self.holds[allocation_id] = order["trust"]

    def krl(self, allocation_id: str) -> bytes:
        """The revocation list a machine has."""
        return base64.b64decode(self.holds[allocation_id]["krl"])


@dataclass(frozen=True)
class Site:
    """A region whose machines are made, a project, and the provider."""

    client: httpx2.AsyncClient
    platform: Platform
    clock: Any
    place: Place
    root: dict[str, str]
    admin: dict[str, str]
    fake: Fake

    async def ask(self, name: str = "a", **more: str) -> httpx2.Response:
        """Want a machine."""
        body = {"name": name, "sku": "small", "region": "made"} | more
        path = f"/projects/{self.place.project_id}/allocations"
        return await self.client.post(path, json=body, headers=self.admin)

    async def release(self, allocation_id: str) -> httpx2.Response:
        """Give it back."""
        path = f"/allocations/{allocation_id}/release"
        return await self.client.post(path, headers=self.admin)

    async def became(self, allocation_id: str, *statuses: str) -> Any:
        """The allocation, once it is in one of these states; time passes for orders that wait."""
        found: Any = {}

        async def seen() -> Any:
            nonlocal found
            answer = await self.client.get(f"/allocations/{allocation_id}", headers=self.admin)
            found = answer.json()
            if found["status"] in statuses:
                return found
            if await self._all_wait("machine_orders"):
                self.clock.advance(seconds=61)
                self.platform.signals.send(("capacity.orders",))
            return None

        return await eventually(seen, what=lambda: f"one of {statuses}, but it is {found}")

    async def active(self, name: str = "a") -> str:
        """The id of an allocation whose machine is there."""
        asked = await self.ask(name)
        found = await self.became(asked.json()["id"], "active")
        return str(found["id"])

    async def node(self, allocation_id: str) -> Any:
        """The node of an allocation."""
        nodes = (await self.client.get("/nodes", headers=self.root)).json()["items"]
        return next(one for one in nodes if one["allocation_id"] == allocation_id)

    async def access(self, allocation_id: str) -> Any:
        """What is known of whom the machine lets in."""
        path = f"/nodes/{(await self.node(allocation_id))['id']}/access"
        answer = await self.client.get(path, headers=self.root)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def grant(self, allocation_id: str, key: str) -> Any:
        """A certificate for the machine."""
        path = f"/allocations/{allocation_id}/access-grants"
        answer = await self.client.post(path, json={"public_key": key}, headers=self.admin)
        assert answer.status_code == 201, answer.text
        return answer.json()["grant"]

    async def revoke(self, grant: Any) -> None:
        """End it early."""
        path = f"/access-grants/{grant['id']}/revoke"
        answer = await self.client.post(path, json={"reason": "lost"}, headers=self.admin)
        assert answer.status_code == 200, answer.text

    async def rotate(self) -> Any:
        """Have the next key of the authority sign; all that are trusted from now on."""
        body = {"reason": "it is time"}
        answer = await self.client.post("/ssh/ca/rotate", json=body, headers=self.root)
        assert answer.status_code == 200, answer.text
        return [one["public_key"] for one in answer.json()["keys"]]

    async def said(self, allocation_id: str, *conditions: str) -> Any:
        """The node, once exactly these conditions hold of it."""

        async def node() -> Any:
            found = await self.node(allocation_id)
            types = tuple(one["type"] for one in found["conditions"])
            return found if types == conditions else None

        return await eventually(node, what=f"the conditions {conditions}")

    async def until(self, holds: Callable[[], bool], *, later: bool = False) -> None:
        """Wait until something holds; `later` lets time pass for what is tried again."""

        async def held() -> bool:
            if holds():
                return True
            if later and await self._all_wait("machine_trust"):
                self.clock.advance(seconds=16)
                self.platform.signals.send(("capacity.trust",))
            return False

        await eventually(held)

    async def _all_wait(self, table: str) -> bool:
        """Whether all there is to do waits for a later time: else its lease would lapse."""
        waits = "due_at > $1 AND (leased_until IS NULL OR leased_until <= $1)"
        sql = f"SELECT bool_and({waits}) FROM {table}"  # noqa: S608 - a name of this file
        return bool(await self.platform.db.fetchval(sql, self.clock.now()))
