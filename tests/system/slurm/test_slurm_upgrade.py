"""Other packages under a running cluster and back again: refused untouched, or through every crash.

The tests share a cluster of two machines and go through its upgrades in this order. What jobs and
versions look like meanwhile is seen in `test_slurm_life.py`.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mortal_slurm import Ledger
from rebuilt_bundle import SUFFIX, bundles_newer
from slurm_ordeal import Faults, Ordeal
from slurm_refusal import nodes_refused, refused

from gpuaas_contract.apps import Operation
from gpuaas_contract.catalog import VersionCreate
from gpuaas_sdk import ConflictError, Request
from tools.ground import Ground
from tools.slurm_crew import placed, until
from tools.slurm_site import ENDED, SLUG, SlurmSite, bundles_ready, manifest_hasty, slurm_up
from tools.suites import suites

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]

SUITE = suites()[0]

NEXT = "0.2.0"
SYSTEMCTL = "/usr/bin/systemctl"
APT = "/usr/bin/apt-get"
BEFORE: Faults = (
    {"offer": refused("n2", "/usr/bin/ln", "'-f installed.tar previous.tar'")},
    {"snapshot": refused("n1", "/usr/bin/mariadb-dump")},
    {"packages_controller": refused("n1", APT, "*install*")},
    {"slurmdbd": refused("n1", SYSTEMCTL, "'restart slurmdbd'")},
    {"slurmctld": refused("n1", SYSTEMCTL, "'restart slurmctld'")},
    {"packages_workers": refused("n2", APT, "*install*")},
    {"restart_slurmd": refused("n2", SYSTEMCTL, "'restart slurmd'")},
    {"register": nodes_refused("n1", SUITE)},
    {"verify": refused("n1", "/usr/bin/srun")},
)
"""Why each step of an upgrade fails that has something to do: with these packages the configuration
stays as it is. What it examines first is refused in tests of its own."""
BACK: Faults = (
    {"stop_slurmd": refused("n2", SYSTEMCTL, "'stop slurmd'")},
    {"stop_slurmctld": refused("n1", SYSTEMCTL, "'stop slurmctld'")},
    {"packages_before": refused("n2", APT, "*install*")},
    {"restore": refused("n1", "/usr/bin/mariadb")},
    {"slurmdbd": refused("n1", SYSTEMCTL, "'restart slurmdbd'")},
    {"slurmctld": refused("n1", SYSTEMCTL, "'restart slurmctld'")},
    {"slurmd": refused("n2", SYSTEMCTL, "'restart slurmd'")},
    {"register": nodes_refused("n1", SUITE)},
    {"verify": refused("n1", "/usr/bin/srun")},
)
"""Why each step of the way back fails."""
INSTALLED = "dpkg-query -W -f '${Version}' slurm-client"


@dataclass
class Plant:
    """The cluster, and the folder its controller takes packages from."""

    site: SlurmSite
    instance_id: str
    bundles: Path

    async def done(self, kind: str, **more: Any) -> Operation:
        """Ask for an operation and wait for its end."""
        [ended] = await self.site.ended(await self.site.ask(self.instance_id, kind, **more))
        return ended

    async def killed_after_every_step(self, kind: str, **more: Any) -> set[str]:
        """The same with a controller that is killed whenever a step has ended; the steps."""
        asked = await self.site.ask(self.instance_id, kind, **more)
        over: set[str] = set()
        while True:
            operation = await self.site.operation(asked.operations[0].id)
            ended = {one.name for one in operation.progress if one.state == "succeeded"}
            if operation.status == "succeeded":
                return over | ended
            if operation.status in ENDED:
                # So many deaths use up the attempts; a person asks for more.
                assert operation.error is not None
                assert operation.error.code == "attempts_exhausted", operation.error
                path = f"/operations/{operation.id}/retry"
                await self.site.admin.send(Request("POST", path))
            if ended - over:
                over |= ended
                await self.site.controller_end(signal.SIGKILL)
                await self.site.controller_start()
            await asyncio.sleep(0.02)

    def ordeal(self) -> Ordeal:
        """What can happen to an operation, with a controller that lives."""
        return Ordeal(self.site, self.instance_id, Ledger(self.site.folder / "ledger"))

    async def seen(self, machine: str, command: str) -> str:
        """What the machine's own operator sees."""
        ran = await self.site.ground.lab.machine(machine).run(command, check=False)
        return ran.stdout.strip()

    async def versions(self) -> dict[str, str]:
        """The three versions the app tells."""
        instance = await self.site.instance(self.instance_id)
        assert instance.adapter_detail is not None
        found: dict[str, str] = instance.adapter_detail.detail["versions"]
        return found | {"instance": instance.app_version}


@pytest.fixture(scope="module")
async def plant(
    ground_factory: Callable[..., Awaitable[Ground]], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Plant]:
    ground = await ground_factory("upgrade", 2, SUITE)
    bundles = tmp_path_factory.mktemp("bundles")
    for bundle in (await bundles_ready(SUITE)).glob("*.tar"):
        shutil.copy(bundle, bundles)
    options = ("--observe-seconds", "2", "--lease-seconds", "5")
    manifest = await manifest_hasty()
    async with slurm_up(ground, bundles=bundles, options=options, manifest=manifest) as site:
        asked = await site.deploy("c1", placed(ground, "n1", ["n2"]))
        [done] = await site.ended(asked)
        assert done.status == "succeeded", done.error
        version = VersionCreate.model_validate(
            {"version": NEXT, "manifest": manifest, "publish": True}
        )
        await ground.admin.send(Request("POST", f"/apps/{SLUG}/versions", version))
        yield Plant(site, asked.operations[0].instance_id, bundles)


async def test_nothing_leads_back_before_the_first_upgrade(plant: Plant) -> None:
    with pytest.raises(ConflictError, match="no earlier version"):
        await plant.site.ask(plant.instance_id, "rollback")


async def test_an_upgrade_to_what_runs_already_is_refused_untouched(plant: Plant) -> None:
    started = await plant.seen("n1", "systemctl show -P MainPID slurmctld")
    refused = await plant.done("upgrade", version=NEXT)
    assert refused.status == "failed"
    assert refused.error is not None
    assert refused.error.code == "upgrade_refused"
    assert "already" in refused.error.message
    assert await plant.seen("n1", "systemctl show -P MainPID slurmctld") == started


async def test_an_upgrade_that_touched_nothing_needs_no_way_back(plant: Plant) -> None:
    refused = await plant.done("rollback")
    assert refused.error is not None
    assert (refused.status, refused.error.code) == ("failed", "rollback_refused")
    assert "no snapshot" in refused.error.message
    assert await plant.seen("n1", "srun -N1 hostname") == "n2"


async def test_an_upgrade_converges_when_the_controller_dies_after_every_step(plant: Plant) -> None:
    for bundle in (await bundles_newer(SUITE)).glob("*.tar"):
        shutil.copy(bundle, plant.bundles)
    steps = await plant.killed_after_every_step("upgrade", version=NEXT)
    assert steps >= {"offer", "snapshot", "packages_controller", "packages_workers", "verify"}
    after = await until(plant.versions, lambda one: one["package"].endswith(SUFFIX))
    assert after["instance"] == NEXT
    for machine in ("n1", "n2"):
        assert (await plant.seen(machine, INSTALLED)).endswith(SUFFIX)
    assert await plant.seen("n1", "srun -N1 hostname") == "n2"


async def test_what_the_app_knows_is_not_lost_with_the_process_and_its_disk(plant: Plant) -> None:
    told = await plant.site.instance(plant.instance_id)
    assert told.adapter_detail is not None
    generation = told.adapter_detail.detail["generation"]
    await plant.site.controller_end(signal.SIGKILL)
    shutil.rmtree(plant.site.folder / "state", ignore_errors=True)
    await plant.site.controller_start()
    done = await plant.done("reconcile")
    assert done.status == "succeeded", done.error
    again = await plant.site.instance(plant.instance_id)
    assert again.adapter_detail is not None
    assert again.adapter_detail.detail["generation"] == generation
    # Snapshots too are where the cluster is: the test after this one restores one.


async def test_a_rollback_converges_when_the_controller_dies_after_every_step(
    plant: Plant,
) -> None:
    steps = await plant.killed_after_every_step("rollback")
    assert steps >= {"examine", "packages_before", "restore", "slurmctld", "verify"}
    after = await until(plant.versions, lambda one: not one["package"].endswith(SUFFIX))
    assert after["instance"] == "0.1.0"
    assert await plant.seen("n1", "srun -N1 hostname") == "n2"
    for machine in ("n1", "n2"):
        assert not (await plant.seen(machine, INSTALLED)).endswith(SUFFIX)


async def test_a_second_rollback_is_refused_untouched(plant: Plant) -> None:
    started = await plant.seen("n1", "systemctl show -P MainPID slurmctld")
    refused = await plant.done("rollback")
    assert refused.status == "failed"
    assert refused.error is not None
    assert refused.error.code == "rollback_refused"
    assert await plant.seen("n1", "systemctl show -P MainPID slurmctld") == started


async def test_each_step_of_an_upgrade_may_be_refused_and_tried_again(plant: Plant) -> None:
    await plant.ordeal().failing(
        "upgrade", BEFORE, lambda instance, _: instance.app_version == "0.1.0", version=NEXT
    )
    after = await until(plant.versions, lambda one: one["package"].endswith(SUFFIX))
    assert after["instance"] == NEXT
    assert await plant.seen("n1", "srun -N1 hostname") == "n2"


async def test_each_step_of_a_rollback_may_be_refused_and_tried_again(plant: Plant) -> None:
    await plant.ordeal().failing("rollback", BACK, lambda instance, _: instance.app_version == NEXT)
    after = await until(plant.versions, lambda one: not one["package"].endswith(SUFFIX))
    assert after["instance"] == "0.1.0"
    assert await plant.seen("n1", "srun -N1 hostname") == "n2"
