"""For hosts that cannot trust the platform's authority: a private key from custody.

It comes sealed to the service account's own key, is opened here, and is kept in memory alone. The
deliveries of a credential are counted, so one delivery serves all machines for a while.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

import asyncssh

from gpuaas_contract.capacity import Allocation
from gpuaas_contract.custody import AccessCredentialDelivered
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.machines.certificate import failure_of
from gpuaas_sdk.machines.failures import AccessRefused
from gpuaas_sdk.machines.scripts import About
from gpuaas_sdk.machines.ssh_wire import Pass, Patience, SshWire
from gpuaas_sdk.machines.wire import Wire
from gpuaas_sdk.sealing import SealingKey

_SECONDS: Final = 900.0


@dataclass(frozen=True)
class _Opened:
    username: str
    key: asyncssh.SSHKey
    until: float


@dataclass(eq=False)
class SealedKeyAccess:
    """An access credential of the project, opened with the service account's sealing key."""

    credential_id: str
    sealing_key: SealingKey
    patience: Patience = field(default_factory=Patience)
    _opened: _Opened | None = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    @property
    def key(self) -> str:
        """Pooled by the credential."""
        return f"credential {self.credential_id}"

    def wire(self, client: Client, allocation_id: str) -> Wire:
        """The way to the machine of an allocation."""
        return SshWire(allocation_id, _Door(client, allocation_id, self), self.patience)

    async def opened(self, client: Client, about: About) -> _Opened:
        """The private key; one delivery for everybody who waits for it."""
        async with self._lock:
            if self._opened is None or time.monotonic() >= self._opened.until:
                self._opened = await self._deliver(client, about)
            return self._opened

    def forget(self) -> None:
        """The key was refused: it may have been rotated."""
        self._opened = None

    async def _deliver(self, client: Client, about: About) -> _Opened:
        path = f"/access-credentials/{self.credential_id}/deliveries"
        request = Request("POST", path, correlation_id=about.correlation_id or None)
        given = await client.call(request, AccessCredentialDelivered)
        private = self.sealing_key.open(given.sealed)
        key = asyncssh.import_private_key(private)
        return _Opened(given.username, key, time.monotonic() + _SECONDS)


@dataclass(frozen=True)
class _Door:
    client: Client
    allocation_id: str
    access: SealedKeyAccess

    async def ask(self, about: About, /) -> Pass:
        """Where the machine is, what it must show, and the key that opens it."""
        try:
            allocation = await self.client.get(f"/allocations/{self.allocation_id}", Allocation)
            opened = await self.access.opened(self.client, about)
        except GpuaasError as error:
            raise failure_of(self.allocation_id, error) from error
        except asyncssh.KeyImportError as error:
            text = f"the key of {self.access.credential_id} cannot be read: {error}"
            raise AccessRefused(self.allocation_id, text) from error
        if allocation.address is None:
            text = f"the allocation is {allocation.status} and has no machine"
            raise AccessRefused(self.allocation_id, text)
        return Pass(
            address=allocation.address,
            username=opened.username,
            host_keys=tuple(allocation.host_keys),
            key=opened.key,
            certificate=None,
            seconds=_SECONDS,
            about=f"the key of the access credential {self.access.credential_id}",
        )

    def refused(self) -> None:
        """The next delivery may bring its successor."""
        self.access.forget()
