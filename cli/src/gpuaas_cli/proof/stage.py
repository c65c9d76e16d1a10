"""What a proof works on, and the things every proof does: deploy, ask for work, wait, clean up."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuaas_cli.manifests import field_at, operations_for, placed
from gpuaas_cli.progress import ENDED
from gpuaas_cli.proof.caller import Answer, Caller
from gpuaas_cli.proof.evidence import Failed, Unverified

Thing = dict[str, Any]
_POLL = 20
_GONE = {"removed"}


@dataclass(frozen=True)
class Fault:
    """A machine that does not answer, and the commands that make it so and mend it."""

    allocation_id: str | None = None
    begin: str | None = None
    end: str | None = None

    async def make(self) -> None:
        """Break the machine, if it is not broken by itself."""
        await _shell(self.begin)

    async def mend(self) -> None:
        """Let it answer again, where that is known how."""
        await _shell(self.end)


@dataclass
class Stage:
    """One run: who asks, on which machines, and what has been made so far."""

    person: Caller
    operator: Caller | None
    project_id: str
    app: str
    version: str
    settings: Mapping[str, Any]
    machines: Sequence[str]
    """Allocations that may be used, the first for the first member."""
    fault: Fault = Fault()
    patience: float = 600.0
    name: str = field(default_factory=lambda: f"proof-{secrets.token_hex(4)}")
    manifest: Thing = field(default_factory=dict)
    instance_id: str = ""
    deployed: Thing = field(default_factory=dict)
    added: Thing = field(default_factory=dict)
    failed: Thing = field(default_factory=dict)
    correlations: list[str] = field(default_factory=list)

    async def instance(self) -> Thing:
        """The instance as it is now."""
        found: Thing = await self.person.get(f"/app-instances/{self.instance_id}")
        return found

    async def members(self, *, removed: bool = False) -> list[Thing]:
        """Its members."""
        path = f"/app-instances/{self.instance_id}/members"
        found: list[Thing] = (await self.person.get(path, limit=500, removed=removed))["items"]
        return found

    async def member_on(self, allocation_id: str) -> Thing:
        """The live member on an allocation."""
        for one in await self.members():
            if one["allocation_id"] == allocation_id and one["status"] not in _GONE:
                return one
        raise Failed(f"no member is bound to the allocation {allocation_id}")

    async def ended(self, operation: Mapping[str, Any]) -> Thing:
        """The operation at its end, however it ended."""
        found: Thing = dict(operation)
        async with asyncio.timeout(self.patience):
            while found["status"] not in ENDED:
                found = await self.newer(found)
        return found

    async def newer(self, operation: Mapping[str, Any]) -> Thing:
        """The operation once it changed, or after a while."""
        found: Thing = await self.person.get(
            f"/operations/{operation['id']}",
            wait=f"{_POLL}s",
            after_revision=operation["revision"],
        )
        return found

    async def succeeded(self, answer: Answer) -> Thing:
        """The first operation of a request, which must succeed."""
        body = self.person.granted(answer, "the request")
        self.correlations.append(answer.correlation_id)
        first: Thing = {}
        for operation in body["operations"]:
            ended = await self.ended(operation)
            first = first or ended
            if ended["status"] != "succeeded":
                error = ended.get("error") or {}
                why = f": {error['code']}: {error['message']}" if error else ""
                raise Failed(f"{ended['kind']} ({ended['id']}) {ended['status']}{why}")
        return first

    def operation(self, purpose: str) -> Mapping[str, Any]:
        """The app's operation for a purpose."""
        found = operations_for(self.manifest, purpose)
        if not found:
            raise Unverified(f"the app has no operation for {purpose}")
        return found[0]

    async def ask(
        self, spec: Mapping[str, Any], members: Sequence[str] = (), given: Thing | None = None
    ) -> Answer:
        """Ask for an operation."""
        body = {"kind": spec["kind"], "member_ids": list(members), "input": given or {}}
        path = f"/app-instances/{self.instance_id}/operations"
        return await self.person.ask("POST", path, body)

    async def ask_purpose(self, purpose: str, members: Sequence[str] = ()) -> Thing:
        """Ask for the operation of a purpose and see it succeed."""
        return await self.succeeded(await self.ask(self.operation(purpose), members))

    async def add_on(self, allocation_id: str) -> Answer:
        """Ask for a member on an allocation."""
        spec = self.operation("member_add")
        return await self.ask(spec, given=placed(spec, [allocation_id]))

    def spare(self) -> str:
        """The allocation for the second member."""
        if len(self.machines) < 2:
            raise Unverified("a second machine is needed: hold another allocation")
        return self.machines[1]


async def deploy_input(stage: Stage) -> Thing:
    """The deploy form, filled in: what was given, the form's own values, machines for the rest."""
    base = f"/projects/{stage.project_id}/apps/{stage.app}/versions/{stage.version}"
    form = await stage.person.get(f"{base}/form")
    filled: Thing = {**form["initial"], **stage.settings}
    schema = form["input_schema"]
    for name in schema.get("required", []):
        wanted = field_at(schema, f"/{name}")
        if name in filled or wanted.get("x-widget") != "allocation_picker":
            continue
        many = wanted.get("type") == "array"
        filled[name] = [stage.machines[0]] if many else stage.machines[0]
    checked = await stage.person.change("POST", f"{base}/validate-input", {"input": filled})
    if not checked["valid"]:
        wrong = "; ".join(f"{one['pointer']}: {one['message']}" for one in checked["errors"])
        raise Failed(f"the deploy form needs more than machines (give --set): {wrong}")
    return filled


async def deploy_ask(stage: Stage, filled: Thing, key: str) -> Answer:
    """Ask for an instance."""
    body = {
        "app_slug": stage.app,
        "version": stage.version,
        "name": stage.name,
        "settings": filled,
    }
    path = f"/projects/{stage.project_id}/app-instances"
    return await stage.person.ask("POST", path, body, key=key)


async def clean_up(stage: Stage) -> list[str]:
    """Take away what the run made; what could not be taken away is named."""
    await stage.fault.mend()
    if not stage.instance_id:
        return []
    found = await stage.instance()
    if found["status"] == "deleted":
        return []
    for one in await _open_operations(stage):
        await stage.person.ask("POST", f"/operations/{one['id']}/cancel")
    async with asyncio.timeout(stage.patience):
        for one in await _open_operations(stage):
            await stage.ended(one)
        answer = await stage.person.ask("DELETE", f"/app-instances/{stage.instance_id}")
        if answer.ok:
            for one in answer.body["operations"]:
                await stage.ended(one)
    found = await stage.instance()
    if found["status"] == "deleted":
        return []
    return [f"instance {stage.instance_id} ({stage.name}) is {found['status']}"]


async def _shell(command: str | None) -> None:
    if command is None:
        return
    process = await asyncio.create_subprocess_shell(command)
    if await process.wait() != 0:
        raise Failed(f"`{command}` ended with {process.returncode}")


async def _open_operations(stage: Stage) -> list[Thing]:
    path = f"/app-instances/{stage.instance_id}/operations"
    found = (await stage.person.get(path, limit=100))["items"]
    return [one for one in found if one["status"] not in ENDED]
