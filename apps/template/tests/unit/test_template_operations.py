"""Every operation of the template, proven on the in-memory platform and real folders."""

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from gpuaas_sdk.contract import (
    Health,
    InstanceStatus,
    MemberStatus,
    OperationCreate,
    OperationStatus,
)
from gpuaas_sdk.testing import MemoryPlatform, Stage, operation_run, prove_operation
from gpuaas_template.app import template_app
from gpuaas_template.machines import Machines

MANIFEST = json.loads(files("gpuaas_template").joinpath("manifest.json").read_text())
SEPARATE = {
    "gateway_allocation_id": "alloc_1",
    "server_placement": "separate",
    "server_allocation_ids": ["alloc_2", "alloc_3"],
}
BEFORE = {
    "resume_server": ["drain_server"],
    "start": ["stop"],
    "rollback": ["upgrade"],
}


class World:
    """A platform and machines of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.platform = MemoryPlatform("template", MANIFEST, versions=("1.4.2", "1.5.0"))
        self.app = template_app(Machines(folder))
        self.instance_id = ""

    async def deploy(self) -> str:
        asked = await self.platform.deploy(SEPARATE)
        self.instance_id = asked.instance.id
        return asked.operation.id

    async def ask(self, kind: str) -> str:
        servers = [m.id for m in self.platform.members(self.instance_id)][1:2]
        on_member = {"drain_server", "resume_server", "remove_server"}
        body = OperationCreate(
            kind=kind,
            member_ids=servers if kind in on_member else [],
            input={"allocation_ids": ["alloc_4"]} if kind == "add_server" else {},
            version="1.5.0" if kind == "upgrade" else None,
        )
        return (await self.platform.ask(self.instance_id, body)).operation.id

    async def done(self, operation_id: str) -> None:
        ended = await operation_run(self.app, self.platform, operation_id)
        assert ended.status is OperationStatus.SUCCEEDED, ended.error

    def files(self) -> dict[str, str]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_text() for path in found}


@pytest.mark.parametrize("kind", [one["kind"] for one in MANIFEST["operations"]])
async def test_every_operation_is_harmless_to_repeat_fail_and_kill(
    kind: str, tmp_path: Path
) -> None:
    numbers = iter(range(10_000))

    async def make() -> Stage:
        world = World(tmp_path / str(next(numbers)))
        operation_id = await world.deploy()
        if kind != "deploy":
            await world.done(operation_id)
            for earlier in BEFORE.get(kind, []):
                await world.done(await world.ask(earlier))
            if kind == "reconcile":
                (world.folder / "alloc_2/server/unit").write_text("stopped")
            operation_id = await world.ask(kind)

        async def fingerprint() -> object:
            return world.files()

        return Stage(world.app, world.platform, operation_id, fingerprint)

    proven = await prove_operation(make)
    assert proven.steps


async def test_a_whole_life_leaves_nothing(tmp_path: Path) -> None:
    world = World(tmp_path / "machines")
    await world.done(await world.deploy())
    instance = world.platform.instance(world.instance_id)
    assert (instance.status, instance.health) == (InstanceStatus.RUNNING, Health.HEALTHY)
    assert instance.runtime_version == "1.4.2"
    assert instance.settings_applied_revision == instance.settings_revision
    for kind in ("add_server", "drain_server", "resume_server", "remove_server"):
        await world.done(await world.ask(kind))
    for kind in ("stop", "start", "upgrade"):
        await world.done(await world.ask(kind))
    assert world.platform.instance(world.instance_id).runtime_version == "1.5.0"
    await world.done(await world.ask("decommission"))
    assert world.platform.instance(world.instance_id).status is InstanceStatus.DELETED
    assert world.files() == {}


async def test_a_machine_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path / "machines")
    foreign = world.folder / "alloc_2/server/owner"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("inst_other")
    ended = await operation_run(world.app, world.platform, await world.deploy())
    assert ended.error is not None
    assert ended.error.code == "machine_taken"
    assert world.files() == {"alloc_2/server/owner": "inst_other"}


async def test_a_machine_that_cannot_be_asked_is_not_called_clean(tmp_path: Path) -> None:
    world = World(tmp_path / "machines")
    await world.done(await world.deploy())
    (world.folder / "alloc_2.unreachable").touch()
    await world.done(await world.ask("reconcile"))
    member = world.platform.members(world.instance_id)[1]
    assert member.health is Health.UNREACHABLE
    assert [one.type for one in member.conditions] == ["unreachable"]
    assert member.status is MemberStatus.READY
    ended = await operation_run(world.app, world.platform, await world.ask("decommission"))
    assert ended.error is not None
    assert "alloc_2 does not answer" in ended.error.message
    assert world.platform.members(world.instance_id) != []


async def test_a_member_given_up_is_gone_once_nothing_is_found_there(tmp_path: Path) -> None:
    world = World(tmp_path / "machines")
    await world.done(await world.deploy())
    member = world.platform.members(world.instance_id)[1]
    for status in (MemberStatus.REMOVING, MemberStatus.CLEANUP_BLOCKED):
        world.platform.world.move_member(member.id, status)
    await world.done(await world.ask("reconcile"))
    kept = world.platform.members(world.instance_id)[1]
    assert (kept.id, kept.status) == (member.id, MemberStatus.CLEANUP_BLOCKED)
    shutil.rmtree(world.folder / member.allocation_id)
    await world.done(await world.ask("reconcile"))
    assert member.id not in {one.id for one in world.platform.members(world.instance_id)}
