"""Where the contract's cases run: a platform with the example app, machines and two identities.

The app is published as 1.0.0 and, with `split`, as 1.1.0. Used by `conformance.py`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gpuaas_contract.apps import (
    AppInstance,
    InstanceCreate,
    Member,
    Operation,
    OperationCreate,
    Requested,
)
from gpuaas_contract.controllers import (
    Claim,
    Claimed,
    Claims,
    ControllerSelf,
    Heartbeat,
    HeartbeatAnswer,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.errors import ProblemError
from gpuaas_sdk.testing.example import SLUG


@dataclass(frozen=True)
class Ground:
    """Where the cases run."""

    controller: Client
    person: Client
    project_id: str
    allocations: tuple[str, ...]
    advance: Callable[[float], None]

    async def deploy(self, name: str = "first", pins: int = 1, version: str = "1.0.0") -> Requested:
        """Ask for the example app on the first machines."""
        settings = {"board": self.allocations[0], "pins": list(self.allocations[1 : 1 + pins])}
        body = InstanceCreate(app_slug=SLUG, version=version, name=name, settings=settings)
        path = f"/projects/{self.project_id}/app-instances"
        return await self.person.post(path, body, Requested)

    async def running(self, name: str = "first", pins: int = 1) -> AppInstance:
        """An instance whose deploy succeeded."""
        asked = await self.deploy(name, pins)
        claimed = await self.claim_one()
        await self.say(claimed, "complete")
        return await self.instance(asked.instance.id)

    async def ask(self, instance_id: str, kind: str, **more: Any) -> list[Operation]:  # noqa: ANN401 - fields of a request
        """Ask for operations."""
        body = OperationCreate(kind=kind, **more)
        path = f"/app-instances/{instance_id}/operations"
        return (await self.person.post(path, body, Requested)).operations

    async def claim(self, capacity: int = 10, replica: str = "one") -> list[Claimed]:
        """Take what there is."""
        body = Claim(
            app_slug=SLUG,
            controller=ControllerSelf(replica=replica),
            capacity=capacity,
            lease_seconds=60,
        )
        return (await self.controller.post("/operations/claim", body, Claims)).items

    async def claim_one(self) -> Claimed:
        """Take the one there is."""
        found = await self.claim()
        same(len(found), 1, "one operation can be claimed")
        return found[0]

    async def say(self, claimed: Claimed, what: str, **body: Any) -> Operation:  # noqa: ANN401 - fields of a report
        """Say something under a lease."""
        path = f"/operations/{claimed.operation.id}/{what}"
        given = _Body.model_validate({"lease_token": claimed.lease.token, **body})
        return await self.controller.call(Request("POST", path, given), Operation)

    async def beat(self, claimed: Claimed) -> HeartbeatAnswer:
        """Keep a lease for another minute."""
        path = f"/operations/{claimed.operation.id}/heartbeat"
        body = Heartbeat(lease_token=claimed.lease.token, lease_seconds=60)
        return await self.controller.post(path, body, HeartbeatAnswer)

    async def refused(self, call: Awaitable[object]) -> ErrorCode:
        """The code with which the platform refuses."""
        try:
            await call
        except ProblemError as error:
            return error.code
        raise AssertionError("it was not refused")

    async def fields_refused(self, call: Awaitable[object]) -> set[str]:
        """The fields for which the platform refuses an input."""
        try:
            await call
        except ProblemError as error:
            same(error.code, ErrorCode.INVALID_INPUT, "the code")
            return {one.pointer for one in error.problem.errors}
        raise AssertionError("it was not refused")

    async def instance(self, instance_id: str) -> AppInstance:
        """An instance as it is now."""
        return await self.person.get(f"/app-instances/{instance_id}", AppInstance)

    async def operation(self, operation_id: str) -> Operation:
        """An operation as it is now."""
        return await self.person.get(f"/operations/{operation_id}", Operation)

    async def members(self, instance_id: str) -> list[Member]:
        """Live members, oldest first."""
        path = f"/app-instances/{instance_id}/members"
        return sorted([m async for m in self.person.pages(path, Member)], key=lambda one: one.id)


class _Body(BaseModel):
    """Any body: a case may say what the types would not let it."""

    model_config = {"extra": "allow"}


def same(found: object, expected: object, what: str) -> None:
    """What was found is what was expected."""
    if found != expected:
        raise AssertionError(f"{what}: {found!r} instead of {expected!r}")


def true(held: bool, what: str) -> None:
    """It holds."""
    if not held:
        raise AssertionError(what)
