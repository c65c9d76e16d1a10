"""The machines an app may touch, each reached over a way that is pooled and kept fresh.

A controller makes one and hands it to every step and observer, bound to the correlation id of what
they do. Machines are apart: one that is dead or slow holds up no other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any, TypeVar

from gpuaas_sdk.client import Client
from gpuaas_sdk.failures import StepFailure
from gpuaas_sdk.machines.certificate import CertificateAccess
from gpuaas_sdk.machines.failures import MachineFailure
from gpuaas_sdk.machines.machine import Machine
from gpuaas_sdk.machines.scripts import About
from gpuaas_sdk.machines.wire import Access, Wire
from gpuaas_sdk.telemetry import span_inside

T = TypeVar("T")

_TOLD_SECONDS = 0.02  # a machine that is at hand need not be told of

_DOING: ContextVar[str | None] = ContextVar("doing", default=None)
"""What the running task does: tasks of one operation that share its machines differ in it."""


class Machines:
    """The way to machines, by allocation. `access` is how; certificates unless told otherwise."""

    def __init__(self, client: Client, access: Access | None = None) -> None:
        self._client = client
        self._access: Access = access or CertificateAccess()
        self._pool: dict[tuple[str, str], Wire] = {}
        self._about = About()

    def bound(self, correlation_id: str, what: str = "") -> "Machines":
        """The same machines, for work that carries this correlation id."""
        return self._view(self._access, About(correlation_id, what))

    def by(self, access: Access) -> "Machines":
        """The same machines, reached in another way."""
        return self._view(access, self._about)

    def doing(self, what: str) -> None:
        """Say what this task does from now on: failures and the machine's journal name it."""
        _DOING.set(what)

    async def open(self, allocation_id: str) -> Machine:
        """The machine of an allocation, reached and ready."""
        place = (self._access.key, allocation_id)
        wire = self._pool.get(place)
        if wire is None:
            wire = self._pool[place] = self._access.wire(self._client, allocation_id)
        about = About(self._about.correlation_id, _DOING.get() or self._about.what)
        with span_inside(f"reach {allocation_id}", least=_TOLD_SECONDS):
            await wire.ready(about)
        return Machine(allocation_id, wire, about)

    async def each(
        self, allocation_ids: Iterable[str], work: Callable[[Machine], Awaitable[T]]
    ) -> dict[str, T | MachineFailure]:
        """Do something on many machines at once; each succeeds or fails on its own.

        An error that is no step failure is a bug: it is raised, once all have come to their end.
        """

        wanted = list(dict.fromkeys(allocation_ids))
        parts = [asyncio.create_task(self._one(name, work)) for name in wanted]
        try:
            if parts:
                await asyncio.wait(parts)
            return {name: part.result() for name, part in zip(wanted, parts, strict=True)}
        finally:
            await _ended(parts)

    async def close(self) -> None:
        """Let go of every machine."""
        pool, wires = self._pool, list(self._pool.values())
        pool.clear()
        await asyncio.gather(*(wire.close() for wire in wires))

    async def _one(
        self, allocation_id: str, work: Callable[[Machine], Awaitable[T]]
    ) -> T | MachineFailure:
        try:
            return await work(await self.open(allocation_id))
        except StepFailure as failure:
            return failure

    def _view(self, access: Access, about: About) -> "Machines":
        view = Machines(self._client, access)
        view._pool = self._pool
        view._about = about
        return view


async def _ended(parts: "list[asyncio.Task[Any]]") -> None:
    """Nothing goes on unseen: what still runs is ended, what failed beside another is taken."""
    for part in parts:
        part.cancel()
    await asyncio.gather(*parts, return_exceptions=True)
