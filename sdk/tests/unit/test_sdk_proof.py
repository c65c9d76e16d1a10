"""The generic proofs pass for an honest app and catch one that is not."""

import pytest

from gpuaas_contract.apps import OperationCreate
from gpuaas_contract.states import InstanceStatus, OperationStatus
from gpuaas_sdk import Context, Step
from gpuaas_sdk.app import App, Procedure
from gpuaas_sdk.testing import (
    MemoryPlatform,
    ProofFailed,
    Stage,
    operation_run,
    prove_operation,
)
from gpuaas_sdk.testing.example import SLUG, Boards, notes_app, notes_manifest


async def _stage(kind: str) -> Stage:
    boards = Boards()
    app, platform = notes_app(boards), MemoryPlatform(SLUG, notes_manifest())
    asked = await platform.deploy({"board": "alloc_1", "pins": ["alloc_2"]})
    instance_id, operation_id = asked.instance.id, asked.operation.id
    if kind != "deploy":
        await operation_run(app, platform, operation_id)
        boards.hanging["alloc_2"].discard("paper" if kind == "reconcile" else "")
        pins = [m.id for m in platform.members(instance_id) if m.component_key == "pin"]
        body = {
            "add_pin": OperationCreate(kind=kind, input={"pins": ["alloc_3"]}),
            "remove_pin": OperationCreate(kind=kind, member_ids=pins),
        }.get(kind, OperationCreate(kind=kind))
        operation_id = (await platform.ask(instance_id, body)).operation.id

    async def fingerprint() -> object:
        return {place: sorted(notes) for place, notes in boards.hanging.items() if notes}

    return Stage(app, platform, operation_id, fingerprint)


@pytest.mark.parametrize(
    "kind", ["deploy", "add_pin", "remove_pin", "say", "reconcile", "decommission"]
)
async def test_every_operation_of_an_honest_app_is_proven(kind: str) -> None:
    proven = await prove_operation(lambda: _stage(kind))
    assert proven.runs == 2 + 5 * len(proven.steps)
    assert proven.steps


async def test_the_end_of_a_decommission_is_a_deleted_instance() -> None:
    stage = await _stage("decommission")
    ended = await operation_run(stage.app, stage.platform, stage.operation_id)
    assert ended.status is OperationStatus.SUCCEEDED
    assert stage.platform.instance(ended.instance_id).status is InstanceStatus.DELETED
    assert stage.platform.members(ended.instance_id) == []


class _Forgetful(Step):
    """Cannot tell that it is done, though its effect lasts."""

    name = "append"

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    async def check(self, ctx: Context) -> bool:
        del ctx
        return False

    async def do(self, ctx: Context) -> None:
        self._lines.append(ctx.operation.id)

    async def verify(self, ctx: Context) -> bool:
        return ctx.operation.id in self._lines


async def test_an_app_that_repeats_itself_is_caught() -> None:
    async def make() -> Stage:
        lines: list[str] = []
        honest = await _stage("deploy")
        app: App[dict[str, set[str]]] = honest.app
        forgetful = Procedure([_Forgetful(lines)])

        async def fingerprint() -> object:
            return len(lines)

        broken = App(
            app.slug, app.version, {"deploy": forgetful}, app.observe, app.plan, app.health
        )
        return Stage(broken, honest.platform, honest.operation_id, fingerprint)

    with pytest.raises(ProofFailed, match="instead of 1"):
        await prove_operation(make)
