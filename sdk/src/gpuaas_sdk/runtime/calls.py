"""The calls a controller makes, typed. Each has a timeout and, where it changes something, a key.

Used by the rest of the runtime. A call about an operation carries that operation's correlation id.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic import BaseModel

from gpuaas_contract.apps import AppInstance, Member, Operation, Requested
from gpuaas_contract.controllers import (
    Claim,
    Claimed,
    Claims,
    Heartbeat,
    HeartbeatAnswer,
    Observation,
    Observe,
    ObserverLease,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.telemetry import TelemetrySend, TelemetryTaken
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.errors import ConflictError


@dataclass(frozen=True)
class Calls:
    """A platform, as a controller sees it."""

    client: Client

    async def claim(self, body: Claim) -> list[Claimed]:
        """Take work; waits for it as long as the body says."""
        request = Request("POST", "/operations/claim", body, wait=body.wait_seconds)
        return (await self.client.call(request, Claims)).items

    async def heartbeat(self, operation: Operation, body: Heartbeat) -> HeartbeatAnswer:
        """Keep a lease."""
        return await self.client.call(self._about(operation, "heartbeat", body), HeartbeatAnswer)

    async def say(
        self, operation: Operation, what: str, body: BaseModel, key: str | None = None
    ) -> Operation:
        """A report, or one of the ways an attempt ends. With a key it can be said again."""
        return await self.client.call(self._about(operation, what, body, key), Operation)

    async def observe(self, instance_id: str, body: Observe) -> ObserverLease:
        """Become or stay the observer of an instance."""
        path = f"/app-instances/{instance_id}/observer"
        return await self.client.post(path, body, ObserverLease)

    async def observed(self, instance_id: str, body: Observation) -> AppInstance:
        """What the observer saw."""
        return await self.client.post(f"/app-instances/{instance_id}/report", body, AppInstance)

    async def instance(self, instance_id: str) -> AppInstance:
        """One instance as it is now."""
        return await self.client.get(f"/app-instances/{instance_id}", AppInstance)

    def instances(self, app_slug: str, project_id: str | None) -> AsyncIterator[AppInstance]:
        """Every instance of the app in reach, or in one project."""
        path = "/app-instances" if project_id is None else f"/projects/{project_id}/app-instances"
        return self.client.pages(path, AppInstance, app_slug=app_slug, limit=200)

    async def members(self, instance_id: str) -> tuple[Member, ...]:
        """Live members of an instance, oldest first."""
        path = f"/app-instances/{instance_id}/members"
        found = [one async for one in self.client.pages(path, Member, limit=200)]
        return tuple(sorted(found, key=lambda one: one.id))

    async def reconcile(self, instance_id: str) -> Requested:
        """Ask for a reconcile, so that what changes machines is an operation people can see."""
        path = f"/app-instances/{instance_id}/reconcile"
        return await self.client.post(path, None, Requested)

    async def tell(self, body: TelemetrySend) -> TelemetryTaken:
        """Log lines and spans, for timelines."""
        return await self.client.post("/telemetry", body, TelemetryTaken)

    def _about(
        self, operation: Operation, what: str, body: BaseModel, key: str | None = None
    ) -> Request:
        return Request(
            "POST",
            f"/operations/{operation.id}/{what}",
            body,
            idempotency_key=key,
            correlation_id=operation.correlation_id,
        )


def overtaken(error: ConflictError) -> bool:
    """Whether the platform says that an operation came after what was seen."""
    return error.code is ErrorCode.OBSERVATION_OVERTAKEN


def lease_lost(error: ConflictError) -> bool:
    """Whether the platform says that the lease is no longer ours."""
    return error.code is ErrorCode.LEASE_LOST
