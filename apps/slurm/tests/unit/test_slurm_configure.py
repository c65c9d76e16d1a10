"""Files on machines: one that is as it should be is left alone, so that no reader restarts."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from slurm_world import CONTROLLER, DOCUMENT, look, record, target

from gpuaas_sdk import Client, Context, Log, Machines, MemoryState
from gpuaas_sdk.contract import Operation
from gpuaas_sdk.machines import File
from gpuaas_slurm.documents import CLUSTER, RECORD, ClusterDocument, Record
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.making import Maker
from gpuaas_slurm.onmachine.look import FileSeen, MachineLook
from gpuaas_slurm.onmachine.scripts import HOME, Script
from gpuaas_slurm.render.slurm_conf import PATH
from gpuaas_slurm.services import Services
from gpuaas_slurm.sites import Site
from gpuaas_slurm.steps.prepare import Configure

CLIENT = Client("http://127.0.0.1:9")


class Known(Ground):
    """A ground whose controller's machine is known; what is put there is noted."""

    def __init__(self, seen: MachineLook) -> None:
        super().__init__(Machines(CLIENT), target())
        self.seen = seen
        self.placed: list[str] = []

    async def look(self, site: Site) -> MachineLook:
        del site
        return self.seen

    async def record(self, site: Site) -> Record | None:
        del site
        return record(CONTROLLER, "controller")

    async def document(self) -> ClusterDocument | None:
        return DOCUMENT

    async def run(self, site: Site, script: Script, files: Sequence[File] = ()) -> MachineLook:
        del site, script
        self.placed += [file.path for file in files]
        return self.seen


def configure(ground: Ground) -> tuple[Configure, Context]:
    step = Configure(ground, Maker(ground, Services(CLIENT)), (ground.controller,))
    ctx = Context(
        target=target(),
        operation=cast(Operation, None),  # nothing of it is asked for
        state=MemoryState(),
        machines=Machines(CLIENT),
        log=Log(logging.getLogger(), {}),
    )
    return step, ctx


@pytest.mark.parametrize(
    ("mode", "owner", "processes", "settled"),
    [
        (0o700, "root", "hidden", True),
        (0o755, "root", "hidden", False),
        (0o700, "ada", "hidden", False),
        (0o700, "root", "visible", False),
        (0o700, "root", "refused permission denied", True),  # told, and not tried again and again
    ],
)
async def test_what_users_can_reach_and_need_not_is_closed(
    mode: int, owner: str, processes: str, *, settled: bool
) -> None:
    whole = look(CONTROLLER)
    files = {**whole.files, HOME: FileSeen("", mode, owner, "root", 50)}
    step, ctx = configure(Known(replace(whole, files=files, processes=processes)))
    assert await step.check(ctx) is settled


async def test_a_machine_that_shows_processes_is_named_with_its_reason() -> None:
    seen = replace(look(CONTROLLER), processes="refused mount: /proc: permission denied.")
    ground = Known(replace(seen, files={}))
    step, ctx = configure(ground)
    assert not await step.check(ctx)
    await step.do(ctx)
    said = step.told([ground.controller])
    assert said.endswith("stay visible on n1: mount: /proc: permission denied.")


async def test_only_a_file_that_differs_is_written() -> None:
    whole = look(CONTROLLER)
    by_hand = FileSeen("x", 0o644, "root", "root", 900)
    ground = Known(replace(whole, files={**whole.files, PATH: by_hand}))
    step, ctx = configure(ground)
    assert not await step.check(ctx)
    await step.do(ctx)
    assert sorted(ground.placed) == sorted([PATH, RECORD, CLUSTER])
