"""The usual way in: a certificate of minutes, for a key that is made here and never travels.

Who asks for several machines at once asks the platform once. Used by `Machines`, where nothing
else is said, and by `ssh_access`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Any

import asyncssh

from gpuaas_contract.custody import (
    GRANT_SECONDS,
    GRANTS_MAX,
    AccessGrantCreate,
    AccessGrantIssued,
    AccessGrantsCreate,
    AccessGrantsIssued,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.errors import GpuaasError, ProblemError, TemporaryError
from gpuaas_sdk.failures import StepFailure
from gpuaas_sdk.machines.failures import AccessRefused, MachineUnreachable
from gpuaas_sdk.machines.scripts import About
from gpuaas_sdk.machines.ssh_wire import Pass, Patience, SshWire
from gpuaas_sdk.machines.wire import Wire


@dataclass(eq=False)
class CertificateAccess:
    """Certificates from access grants. `source_address`: networks they can be used from."""

    ttl_seconds: int = GRANT_SECONDS
    source_address: Sequence[IPv4Network | IPv6Network] = ()
    patience: Patience = field(default_factory=Patience)
    _desk: "GrantDesk | None" = field(default=None, init=False, repr=False)

    @property
    def key(self) -> str:
        """Pooled by what the certificates say."""
        return f"certificate {self.ttl_seconds} {[str(one) for one in self.source_address]}"

    def wire(self, client: Client, allocation_id: str) -> Wire:
        """The way to the machine of an allocation."""
        door = CertificateDoor(self.desk(client), allocation_id)
        return SshWire(allocation_id, door, self.patience)

    def desk(self, client: Client) -> "GrantDesk":
        """Where all machines of a client get their certificates."""
        if self._desk is None or self._desk.client is not client:
            self._desk = GrantDesk(client, self.ttl_seconds, self.source_address)
        return self._desk


@dataclass(frozen=True)
class CertificateDoor:
    """Asks for a certificate whenever a connection is made."""

    desk: "GrantDesk"
    allocation_id: str

    async def ask(self, about: About, /) -> Pass:
        """A certificate, for a key that nobody else has."""
        return await self.desk.ask(self.allocation_id, about)

    def refused(self) -> None:
        """The next one is another anyway."""


@dataclass(frozen=True)
class _Asked:
    allocation_id: str
    about: About
    answer: "asyncio.Future[Pass]"


class GrantDesk:
    """Asks the platform for certificates: once for all who ask at the same moment."""

    def __init__(
        self, client: Client, ttl_seconds: int, source: Sequence[IPv4Network | IPv6Network]
    ) -> None:
        self.client = client
        self._ttl = ttl_seconds
        self._source = list(source)
        self._waiting: list[_Asked] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, allocation_id: str, about: About) -> Pass:
        """A pass for one machine."""
        loop = asyncio.get_running_loop()
        asked = _Asked(allocation_id, about, loop.create_future())
        self._waiting.append(asked)
        if len(self._waiting) == 1:
            loop.call_soon(self._send)
        return await asked.answer

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        stories: dict[str, list[_Asked]] = defaultdict(list)
        for asked in waiting:
            stories[asked.about.correlation_id].append(asked)
        for together in stories.values():
            for start in range(0, len(together), GRANTS_MAX):
                task = asyncio.create_task(self._answer(together[start : start + GRANTS_MAX]))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _answer(self, together: list[_Asked]) -> None:
        """Give everybody a pass or the reason why not; nobody waits for ever."""
        names = list(dict.fromkeys(asked.allocation_id for asked in together))
        about = together[0].about
        try:
            found = await self._many(names, about)
        except asyncio.CancelledError:
            for asked in together:
                asked.answer.cancel()
            raise
        for asked in together:
            given = found[asked.allocation_id]
            if asked.answer.done():
                continue
            if isinstance(given, Pass):
                asked.answer.set_result(given)
            else:
                asked.answer.set_exception(given)

    async def _many(self, names: list[str], about: About) -> dict[str, Pass | StepFailure]:
        """One request for all; where it is refused for the sake of one, a request for each."""
        if len(names) == 1:
            return {names[0]: await self._one(names[0], about)}
        key, wanted = self._wanted()
        body = AccessGrantsCreate.model_validate(wanted | {"allocation_ids": names})
        request = Request(
            "POST", "/access-grants", body, correlation_id=about.correlation_id or None
        )
        try:
            answer = await self.client.call(request, AccessGrantsIssued)
        except ProblemError as error:
            if isinstance(error, TemporaryError):
                return {name: failure_of(name, error) for name in names}
            each = await asyncio.gather(*(self._one(name, about) for name in names))
            return dict(zip(names, each, strict=True))
        except GpuaasError as error:
            return {name: failure_of(name, error) for name in names}
        text = "the platform answered for other machines only"
        found: dict[str, Pass | StepFailure] = {name: AccessRefused(name, text) for name in names}
        found |= {one.grant.allocation_id: _pass(one, key) for one in answer.issued}
        found |= {
            one.allocation_id: _refused(one.allocation_id, one.code, one.detail)
            for one in answer.refused
        }
        return found

    async def _one(self, name: str, about: About) -> Pass | StepFailure:
        key, wanted = self._wanted()
        body = AccessGrantCreate.model_validate(wanted)
        try:
            return _pass(await grant_ask(self.client, name, body, about), key)
        except StepFailure as failure:
            return failure

    def _wanted(self) -> tuple[asyncssh.SSHKey, dict[str, Any]]:
        key = asyncssh.generate_private_key("ssh-ed25519")
        return key, {
            "public_key": key.export_public_key().decode().strip(),
            "ttl_seconds": self._ttl,
            "source_address": self._source,
        }


async def grant_ask(
    client: Client, allocation_id: str, body: AccessGrantCreate, about: About
) -> AccessGrantIssued:
    """Ask for one certificate."""
    path = f"/allocations/{allocation_id}/access-grants"
    request = Request("POST", path, body, correlation_id=about.correlation_id or None)
    try:
        return await client.call(request, AccessGrantIssued)
    except GpuaasError as error:
        raise failure_of(allocation_id, error) from error


def _pass(issued: AccessGrantIssued, key: asyncssh.SSHKey) -> Pass | StepFailure:
    grant = issued.grant
    try:
        certificate = asyncssh.import_certificate(issued.certificate)
    except asyncssh.KeyImportError as error:
        return AccessRefused(grant.allocation_id, f"its certificate cannot be read: {error}")
    return Pass(
        address=issued.address,
        username=grant.username,
        host_keys=tuple(line.split(" ", 1)[1] for line in issued.known_hosts),
        key=key,
        certificate=certificate,
        seconds=(grant.valid_before - grant.created_at).total_seconds(),
        about=f"certificate {grant.serial} for the principal {grant.principal}, valid until"
        f" {grant.valid_before:%H:%M:%S} UTC",
    )


def failure_of(allocation_id: str, error: GpuaasError) -> StepFailure:
    """Why the platform gives no access, as a step says it."""
    if isinstance(error, ProblemError) and not isinstance(error, TemporaryError):
        return _refused(allocation_id, error.code, error.problem.detail)
    delay = error.retry_after if isinstance(error, TemporaryError) else None
    text = f"access to it could not be asked for: {error}"
    return MachineUnreachable(allocation_id, text, code="platform_unreachable", delay=delay)


def _refused(allocation_id: str, code: ErrorCode, detail: str) -> AccessRefused:
    known = "allocation_unknown" if code is ErrorCode.NOT_FOUND else "access_refused"
    return AccessRefused(allocation_id, f"the platform gives none: {detail}", code=known)
