"""What the app asks of the platform beside operations: addresses, manifests, custody's secrets.

Made once per controller and shared by all operations. The private key that opens deliveries stays
in this process.
"""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_sdk import Client, Context, GpuaasError, PermanentFailure, Request
from gpuaas_sdk.contract import (
    Allocation,
    AppInstance,
    CustodyRevoke,
    CustodyStatus,
    Member,
    Person,
    RuntimeSecret,
    RuntimeSecretCreate,
    RuntimeSecretDeliver,
    RuntimeSecretDelivered,
    SecretEncoding,
    SecretRandom,
)

KEY_BYTES = 1024
"""As long as `mungekey` makes them."""

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


@dataclass(frozen=True)
class Services:
    """The platform, as steps use it."""

    client: Client
    private_key: X25519PrivateKey | None = None
    bundles: Path | None = None
    """A folder of this host with package bundles, where the platform offers none."""

    async def address(self, allocation_id: str) -> str:
        """Where the platform says an allocation's machine is."""
        found = await self.client.get(f"/allocations/{allocation_id}", Allocation)
        return found.address or ""

    async def manifest(self, slug: str, version: str) -> dict[str, Any]:
        """What a version of the app was published with; read as it is, whoever wrote it."""
        answer = await self.client.send(Request("GET", f"/apps/{slug}/versions/{version}"))
        found: dict[str, Any] = answer.json()["manifest"]
        return found

    async def people(self, project_id: str) -> tuple[Person, ...] | None:
        """Who belongs to a project; None when the platform does not say what they may do."""
        listed = self.client.pages(f"/projects/{project_id}/people", Person, limit=200)
        try:
            found = tuple([person async for person in listed])
        except GpuaasError:
            return None
        # Not shown is not "may do nothing": everybody would be locked out.
        return None if any(one.permissions is None for one in found) else found

    async def members(self, instance_id: str) -> tuple[Member, ...]:
        """The live members of an instance as they are now."""
        path = f"/app-instances/{instance_id}/members"
        return tuple([one async for one in self.client.pages(path, Member, limit=200)])

    async def munge_key(self, ctx: Context) -> bytes:
        """The instance's key, made by custody when it is asked for first."""
        secret = await self._secret(ctx.instance)
        attempt = f"{ctx.operation.id}.{ctx.operation.attempt}"
        request = Request(
            "POST",
            f"/runtime-secrets/{secret.id}/deliveries",
            RuntimeSecretDeliver(task=attempt),
            idempotency_key=f"munge-{attempt}",
            correlation_id=ctx.correlation_id,
        )
        delivered = await self.client.call(request, RuntimeSecretDelivered)
        return self._opened(delivered)

    async def munge_key_kept(self, instance: AppInstance) -> bool:
        """Whether custody has a key of the instance."""
        return bool(await self._secrets(instance))

    async def munge_key_forget(self, ctx: Context) -> None:
        """End the key: nobody needs it any more."""
        body = CustodyRevoke(reason=f"{ctx.instance.id} was decommissioned")
        for secret in await self._secrets(ctx.instance):
            path = f"/runtime-secrets/{secret.id}/revoke"
            request = Request("POST", path, body, correlation_id=ctx.correlation_id)
            await self.client.call(request, RuntimeSecret)

    async def _secret(self, instance: AppInstance) -> RuntimeSecret:
        found = await self._secrets(instance)
        if found:
            return found[0]
        random = SecretRandom(length=KEY_BYTES, encoding=SecretEncoding.BINARY)
        request = Request(
            "POST",
            f"/projects/{instance.project_id}/runtime-secrets",
            RuntimeSecretCreate(name=_name(instance), random=random),
            idempotency_key=f"make-{_name(instance)}",
        )
        return await self.client.call(request, RuntimeSecret)

    async def _secrets(self, instance: AppInstance) -> list[RuntimeSecret]:
        listed = self.client.pages(
            "/runtime-secrets", RuntimeSecret, project_id=instance.project_id
        )
        return [
            secret
            async for secret in listed
            if secret.name == _name(instance) and secret.status is CustodyStatus.ACTIVE
        ]

    def _opened(self, delivered: RuntimeSecretDelivered) -> bytes:
        if self.private_key is None:
            raise PermanentFailure(
                "private_key_missing",
                "The controller was started without the private key of its service account, so it"
                " cannot open secrets; start it with --private-key-file.",
            )
        sealed = delivered.sealed
        box = base64.b64decode(sealed.ciphertext)
        return _SUITE.decrypt(box, self.private_key, sealed.info.encode())


def _name(instance: AppInstance) -> str:
    """The secret's name: an instance has one key."""
    return f"munge-{instance.id.lower().replace('_', '-')}"
