"""An in-memory platform for an app's tests: the controller's part of the contract, and a clock.

    platform = MemoryPlatform("web", manifest)
    asked = await platform.deploy({"gateway_allocation_id": "alloc_1", …})

`client()` is the SDK's real client on it, so what is tested is what runs. Time moves only by
`clock.advance(…)`.
"""

from collections.abc import Mapping
from typing import Any

from gpuaas_contract.apps import (
    AppInstance,
    InstanceCreate,
    Member,
    Operation,
    OperationCreate,
    ReasonGiven,
    Requested,
)
from gpuaas_contract.manifest import Manifest
from gpuaas_contract.manifest_check import manifest_check
from gpuaas_sdk.client import Client, Retries
from gpuaas_sdk.credentials import ServiceAccountKey
from gpuaas_sdk.testing.surface import Surface
from gpuaas_sdk.testing.world import FakeClock, World

PROJECT = "proj_memory"


class MemoryPlatform:
    """A platform that lives in this process and forgets everything with it."""

    def __init__(
        self, app_slug: str, manifest: Mapping[str, Any], versions: tuple[str, ...] = ("1.0.0",)
    ) -> None:
        self.clock = FakeClock()
        self.app_slug = app_slug
        read = _manifest(manifest)
        self.world = World({(app_slug, version): read for version in versions}, self.clock)
        self.surface = Surface(self.world)
        self._versions = versions

    def publish(self, version: str, manifest: Mapping[str, Any]) -> None:
        """Another version of the app, with a manifest of its own."""
        self.world.manifests[self.app_slug, version] = _manifest(manifest)

    def client(self, name: str = "controller") -> Client:
        """The real client, as a service account of this name."""
        quick = Retries(attempts=2, first_delay=0.0, longest_delay=0.0)
        key = ServiceAccountKey(name)
        return Client("http://memory", key, retries=quick, transport=self.surface)

    async def deploy(self, settings: Mapping[str, Any], name: str = "first") -> Requested:
        """Ask for a deploy of the first version."""
        body = InstanceCreate(
            app_slug=self.app_slug, version=self._versions[0], name=name, settings=dict(settings)
        )
        async with self.client("person") as client:
            return await client.post(f"/projects/{PROJECT}/app-instances", body, Requested)

    async def ask(self, instance_id: str, body: OperationCreate) -> Requested:
        """Ask for an operation."""
        async with self.client("person") as client:
            return await client.post(f"/app-instances/{instance_id}/operations", body, Requested)

    async def cancel(self, operation_id: str) -> Operation:
        """Ask for a stop."""
        async with self.client("person") as client:
            return await client.post(f"/operations/{operation_id}/cancel", None, Operation)

    async def retry(self, operation_id: str) -> Operation:
        """Ask for one attempt more of a failed operation."""
        async with self.client("person") as client:
            return await client.post(f"/operations/{operation_id}/retry", None, Operation)

    async def abandon(self, operation_id: str, reason: str) -> Operation:
        """Give an operation up for good."""
        async with self.client("person") as client:
            body = ReasonGiven(reason=reason)
            return await client.post(f"/operations/{operation_id}/abandon", body, Operation)

    def instance(self, instance_id: str) -> AppInstance:
        """An instance as it is now."""
        return self.world.instance(instance_id)

    def operation(self, operation_id: str) -> Operation:
        """An operation as it is now."""
        return self.world.operation(operation_id)

    def members(self, instance_id: str) -> list[Member]:
        """Live members, oldest first."""
        return self.world.live(instance_id)


def _manifest(document: Mapping[str, Any]) -> Manifest:
    manifest, problems = manifest_check(dict(document))
    if manifest is None or problems:
        raise ValueError(f"the manifest is not valid: {problems[:5]}")
    return manifest
