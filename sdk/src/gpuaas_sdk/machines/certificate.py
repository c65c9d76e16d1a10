"""The usual way in: a certificate of minutes, for a key that is made here and never travels.

Used by `Machines`, where nothing else is said, and by `ssh_access`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Final

import asyncssh

from gpuaas_contract.custody import GRANT_SECONDS, AccessGrantCreate, AccessGrantIssued
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.errors import GpuaasError, ProblemError, TemporaryError
from gpuaas_sdk.machines.failures import AccessRefused, MachineUnreachable
from gpuaas_sdk.machines.scripts import About
from gpuaas_sdk.machines.ssh_wire import Pass, Patience, SshWire
from gpuaas_sdk.machines.wire import Wire

USERNAME: Final = "root"


@dataclass(frozen=True)
class CertificateAccess:
    """Certificates from access grants. `source_address`: networks they can be used from."""

    ttl_seconds: int = GRANT_SECONDS
    source_address: Sequence[IPv4Network | IPv6Network] = ()
    patience: Patience = field(default_factory=Patience)

    @property
    def key(self) -> str:
        """Pooled by what the certificates say."""
        return f"certificate {self.ttl_seconds} {[str(one) for one in self.source_address]}"

    def wire(self, client: Client, allocation_id: str) -> Wire:
        """The way to the machine of an allocation."""
        return SshWire(allocation_id, CertificateDoor(client, allocation_id, self), self.patience)


@dataclass(frozen=True)
class CertificateDoor:
    """Asks for a certificate whenever a connection is made."""

    client: Client
    allocation_id: str
    access: CertificateAccess

    async def ask(self, about: About) -> Pass:
        """A new key pair, and the certificate for it."""
        key = asyncssh.generate_private_key("ssh-ed25519")
        body = AccessGrantCreate(
            public_key=key.export_public_key().decode().strip(),
            ttl_seconds=self.access.ttl_seconds,
            source_address=list(self.access.source_address),
        )
        issued = await grant_ask(self.client, self.allocation_id, body, about)
        grant = issued.grant
        try:
            certificate = asyncssh.import_certificate(issued.certificate)
        except asyncssh.KeyImportError as error:
            raise AccessRefused(
                self.allocation_id, f"the certificate is broken: {error}"
            ) from error
        return Pass(
            address=issued.address,
            username=USERNAME,
            host_keys=tuple(line.split(" ", 1)[1] for line in issued.known_hosts),
            key=key,
            certificate=certificate,
            seconds=(grant.valid_before - grant.created_at).total_seconds(),
            about=f"certificate {grant.serial} for the principal {grant.principal}, valid until"
            f" {grant.valid_before:%H:%M:%S} UTC",
        )


async def grant_ask(
    client: Client, allocation_id: str, body: AccessGrantCreate, about: About
) -> AccessGrantIssued:
    """Ask for a certificate; say in a machine failure why there is none."""
    request = Request(
        "POST",
        f"/allocations/{allocation_id}/access-grants",
        body,
        correlation_id=about.correlation_id or None,
    )
    try:
        return await client.call(request, AccessGrantIssued)
    except ProblemError as error:
        if isinstance(error, TemporaryError):
            raise _no_answer(allocation_id, error, error.retry_after) from error
        problem = error.problem
        code = "allocation_unknown" if problem.status == 404 else "access_refused"
        raise AccessRefused(
            allocation_id, f"the platform gives no certificate: {problem.detail}", code=code
        ) from error
    except GpuaasError as error:
        raise _no_answer(allocation_id, error, None) from error


def _no_answer(allocation_id: str, error: GpuaasError, delay: float | None) -> MachineUnreachable:
    text = f"no certificate could be asked for: {error}"
    return MachineUnreachable(allocation_id, text, code="platform_unreachable", delay=delay)
