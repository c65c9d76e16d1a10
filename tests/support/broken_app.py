"""The template app with one thing wrong in its adapter: a process that proofs must catch.

python broken_app.py MODE URL KEY_FILE STATE_FOLDER
"""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpuaas_sdk import (
    App,
    Client,
    Context,
    Controller,
    Facts,
    FolderState,
    Options,
    PermanentFailure,
    Procedure,
    ServiceAccountKey,
    Step,
)
from gpuaas_sdk.contract import MemberStatus
from gpuaas_template.app import template_app
from gpuaas_template.machines import Machines


class Refuse(Step):
    """A step that never can."""

    name = "preflight"

    async def do(self, ctx: Context) -> None:
        """Refuse."""
        raise PermanentFailure("refused", f"This adapter cannot add members: {ctx.operation.id}.")


def mute(app: App[Any]) -> App[Any]:
    """Says nothing about itself: no detail, no version, no access."""

    def silenced(facts: Facts) -> Facts:
        if facts.instance is None:
            return facts
        nothing = {"adapter_detail": None, "runtime_version": None, "access": None}
        return replace(facts, instance=facts.instance.model_copy(update=nothing))

    def procedure(one: Procedure) -> Procedure:
        async def finish(ctx: Context) -> Facts:
            assert one.finish is not None
            return silenced(await one.finish(ctx))

        return replace(one, finish=finish)

    operations = {kind: procedure(one) for kind, one in app.operations.items()}
    return replace(
        app, operations=operations, health=lambda target, seen: silenced(app.health(target, seen))
    )


def lame(app: App[Any]) -> App[Any]:
    """Cannot bring a second member up."""
    return replace(app, operations={**app.operations, "add_server": Procedure([Refuse()])})


def hollow(app: App[Any]) -> App[Any]:
    """Says that it deployed, and did nothing anybody could see."""

    async def nothing(ctx: Context) -> Sequence[Step]:
        del ctx
        return []

    deploy = replace(app.operations["deploy"], steps=nothing)
    return replace(app, operations={**app.operations, "deploy": deploy})


def careless(app: App[Any]) -> App[Any]:
    """Removes members without looking whether anything is left."""

    def procedure(one: Procedure) -> Procedure:
        async def finish(ctx: Context) -> Facts:
            assert one.finish is not None
            facts = await one.finish(ctx)
            bare = [
                report.model_copy(update={"absence": None, "status": MemberStatus.REMOVED})
                for report in facts.members
            ]
            return replace(facts, members=tuple(bare))

        return replace(one, finish=finish)

    changed = {kind: procedure(app.operations[kind]) for kind in ("remove_server", "decommission")}
    return replace(app, operations={**app.operations, **changed})


def untidy(app: App[Any]) -> App[Any]:
    """Removes members and leaves what is on their machines; it says so."""

    async def nothing(ctx: Context) -> Sequence[Step]:
        del ctx
        return []

    remove = replace(app.operations["remove_server"], steps=nothing)
    return replace(app, operations={**app.operations, "remove_server": remove})


MODES = {"untidy": untidy, "mute": mute, "lame": lame, "hollow": hollow, "careless": careless}


async def main(mode: str, url: str, key_file: str, state: str) -> None:
    """Work until SIGTERM."""
    folder = Path(state)
    machines = Machines(folder / "machines")
    app = MODES[mode](template_app(machines))
    key = await asyncio.to_thread(Path(key_file).read_text)
    async with Client(url, ServiceAccountKey(key.strip())) as client:
        options = Options(lease_seconds=5)
        documents = FolderState(folder / "documents")
        controller = Controller(app, client, options, state=documents)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, controller.stop)
        await controller.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
