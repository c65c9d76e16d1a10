"""Bare machines, other packages under a running cluster, and back: through refusals and crashes.

n1 controls, n2 works, n3 is bare until the end. The tests share the cluster and go through its life
in this order; `slurm_ordeal.py` says what each operation goes through. The upgrade also brings new
settings, and mends what somebody changed by hand, so that each of its steps has something to do.
What jobs and versions look like meanwhile is seen in `test_slurm_life.py`.
"""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from rebuilt_bundle import SUFFIX, bundles_newer
from slurm_faults import (
    ADD,
    ADD_BARE,
    DEPLOY,
    DEPLOY_BARE,
    REPLACE,
    REPLACE_BARE,
    ROLLBACK,
    SUITE,
    UPGRADE,
    Faults,
)
from slurm_ordeal import OPTIONS, Ordeal, ordeal_begin

from gpuaas_contract.apps import AppInstance, InstanceUpdate, Operation
from gpuaas_contract.catalog import VersionCreate
from gpuaas_contract.states import MemberStatus
from gpuaas_sdk import ConflictError, Request
from gpuaas_slurm.render.slurmdbd_conf import DATABASE_PATH
from tools.ground import Ground
from tools.slurm_crew import PERSON, members, placed, until
from tools.slurm_site import SLUG, bundles_ready, manifest_hasty, slurm_up

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(1200),
    pytest.mark.in_order,
    pytest.mark.rotates("every step killed and failed"),
]

FIRST, NEXT = "0.1.0", "0.2.0"
INSTALLED: Final = "dpkg-query -W -f '${Version}' slurm-client"
PARTITIONS: Final = [{"name": "main"}, {"name": "night"}]
STARTED: Final = ("n1 mariadb", "n1 slurmdbd", "n1 slurmctld", "n2 slurmd")
"""What an upgrade and a rollback start anew, each once."""
CLOSED: Final = "AvailableFeatures=elsewhere ActiveFeatures=elsewhere"


@dataclass
class Plant:
    """The cluster, and the folder its controller takes packages from."""

    ordeal: Ordeal
    bundles: Path

    async def refused(self, kind: str, **more: Any) -> Operation:
        """Ask for an operation that is to be refused, and wait for its end."""
        site = self.ordeal.site
        [ended] = await site.ended(await site.ask(self.ordeal.instance_id, kind, **more))
        assert ended.status == "failed"
        return ended

    async def run(self, machine: str, command: str) -> str:
        """What the machine's own operator sees."""
        return await self.ordeal.run(machine, command)

    async def daemon(self) -> str:
        """Which slurmctld runs."""
        return await self.run("n1", "systemctl show -P MainPID slurmctld")

    async def versions(self) -> dict[str, str]:
        """The three versions the app tells."""
        instance = await self.ordeal.instance()
        assert instance.adapter_detail is not None
        found: dict[str, str] = instance.adapter_detail.detail["versions"]
        return found | {"instance": instance.app_version}

    async def changes(self, *machines: str) -> Counter[str]:
        """How often the packages of each machine were put in place, by its own log."""
        count = "grep -cE ' (install|upgrade) slurm-client:' /var/log/dpkg.log || true"
        return Counter({one: int(await self.run(one, count)) for one in machines})

    def only(self, kind: str, chosen: Faults, whole: Faults) -> None:
        """Let no other step of an operation kill than the chosen: the others do so elsewhere."""
        listed = {step for group in whole for step in group}
        self.ordeal.spare(kind, *(listed - {step for group in chosen for step in group}))


@pytest.fixture(scope="module")
async def plant(
    ground_factory: Callable[..., Awaitable[Ground]], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Plant]:
    ground = await ground_factory("upgrade", 3, SUITE)
    bundles = tmp_path_factory.mktemp("bundles")
    _offer(bundles, await bundles_ready(SUITE))
    manifest = await manifest_hasty()
    async with slurm_up(ground, bundles=bundles, options=OPTIONS, manifest=manifest) as site:
        yield Plant(await ordeal_begin(site), bundles)


def _offer(folder: Path, source: Path) -> None:
    """These are the packages from now on."""
    for bundle in source.glob("*.tar"):
        shutil.copy(bundle, folder)


async def test_packages_are_installed_once_whatever_happens_to_it(plant: Plant) -> None:
    plant.only("deploy", DEPLOY_BARE, DEPLOY)
    wanted = placed(plant.ordeal.ground, "n1", ["n2"], finished_job_seconds=2)
    await plant.ordeal.deployed("c1", wanted, DEPLOY_BARE)
    assert await plant.changes("n1", "n2") == {"n1": 1, "n2": 1}
    assert await plant.ordeal.person("srun -N1 hostname") == "n2"
    await plant.ordeal.immortal()
    version = VersionCreate.model_validate(
        {"version": NEXT, "manifest": await manifest_hasty(), "publish": True}
    )
    await plant.ordeal.site.admin.send(Request("POST", f"/apps/{SLUG}/versions", version))


async def test_nothing_leads_back_before_the_first_upgrade(plant: Plant) -> None:
    with pytest.raises(ConflictError, match="no earlier version"):
        await plant.ordeal.site.ask(plant.ordeal.instance_id, "rollback")


async def test_an_upgrade_to_what_runs_already_is_refused_untouched(plant: Plant) -> None:
    running = await plant.daemon()
    refused = await plant.refused("upgrade", version=NEXT)
    assert refused.error is not None
    assert refused.error.code == "upgrade_refused"
    assert "already" in refused.error.message
    assert await plant.daemon() == running


async def test_an_upgrade_that_touched_nothing_needs_no_way_back(plant: Plant) -> None:
    refused = await plant.refused("rollback")
    assert refused.error is not None
    assert refused.error.code == "rollback_refused"
    assert "no snapshot" in refused.error.message
    assert await plant.ordeal.person("srun -N1 hostname") == "n2"


async def test_an_upgrade_endures_everything_and_its_job_does_not_notice(plant: Plant) -> None:
    ordeal = plant.ordeal
    _offer(plant.bundles, await bundles_newer(SUITE))
    before = await ordeal.instance()
    given = {**before.settings, "settings": {**before.settings["settings"], **_parted()}}
    path = f"/app-instances/{before.id}"
    await ordeal.site.admin.send(Request("PATCH", path, InstanceUpdate(settings=given)))
    job = await ordeal.job_start("n2")
    await plant.run("n1", f"echo '# by hand' >>{DATABASE_PATH}")
    await plant.run("n1", f"scontrol update NodeName=n2 {CLOSED}")
    await ordeal.mortal()
    began, changed = await ordeal.starts("n1", "n2"), await plant.changes("n1", "n2")

    await ordeal.endured("upgrade", UPGRADE, _at(FIRST), version=NEXT)
    # A snapshot that failed started both again: they were to be down for a moment only.
    again = ["n1 slurmdbd", "n1 slurmctld"]
    assert await ordeal.starts("n1", "n2") - began == Counter([*again, *STARTED])
    assert await plant.changes("n1", "n2") - changed == {"n1": 1, "n2": 1}
    after = await plant.versions()
    assert after["package"].endswith(SUFFIX)
    assert after["instance"] == NEXT
    for machine in ("n1", "n2"):
        assert (await plant.run(machine, INSTALLED)).endswith(SUFFIX)
    assert await ordeal.job(job) == "RUNNING 0"
    await ordeal.job_end("n2")


async def test_what_the_app_knows_is_not_lost_with_the_process_and_its_disk(plant: Plant) -> None:
    ordeal = plant.ordeal
    ordeal.spare("reconcile", "repair_admit")
    told = await ordeal.instance()
    assert told.adapter_detail is not None
    generation = told.adapter_detail.detail["generation"]
    await ordeal.site.controller_end(signal.SIGKILL)
    shutil.rmtree(ordeal.site.folder / "state", ignore_errors=True)
    await ordeal.revived()
    await ordeal.healthy()
    again = await ordeal.instance()
    assert again.adapter_detail is not None
    assert again.adapter_detail.detail["generation"] == generation == 2
    # Snapshots too are where the cluster is: the test after this one restores one.


async def test_a_rollback_endures_everything(plant: Plant) -> None:
    ordeal = plant.ordeal
    await ordeal.job_start("n2")
    began, changed = await ordeal.starts("n1", "n2"), await plant.changes("n1", "n2")
    await ordeal.endured("rollback", ROLLBACK, _at(NEXT), input={"jobs": "cancel"})
    assert await ordeal.starts("n1", "n2") - began == Counter(STARTED)
    assert await plant.changes("n1", "n2") - changed == {"n1": 1, "n2": 1}
    after = await plant.versions()
    assert not after["package"].endswith(SUFFIX)
    assert after["instance"] == FIRST
    for machine in ("n1", "n2"):
        assert not (await plant.run(machine, INSTALLED)).endswith(SUFFIX)
    assert await plant.ordeal.person("srun -N1 hostname") == "n2"
    # The job of the snapshot is known again, and may begin anew; of the other nothing is left.
    await plant.run("n1", f'scancel --user="$({PERSON})"')
    await until(lambda: plant.run("n1", "squeue -h"), lambda said: not said)
    scripts = "pgrep --count slurm_script || true"
    await until(lambda: plant.run("n2", scripts), lambda said: said == "0")


async def test_a_second_rollback_is_refused_untouched(plant: Plant) -> None:
    running = await plant.daemon()
    refused = await plant.refused("rollback")
    assert refused.error is not None
    assert refused.error.code == "rollback_refused"
    assert await plant.daemon() == running


async def test_a_bare_machine_takes_a_place_and_the_other_comes_back(plant: Plant) -> None:
    ordeal = plant.ordeal
    _offer(plant.bundles, await bundles_ready(SUITE))
    plant.only("replace_worker", REPLACE_BARE, REPLACE)
    plant.only("add_worker", ADD_BARE, ADD)
    member = await ordeal.member("n2")
    await ordeal.endured(
        "replace_worker",
        REPLACE_BARE,
        lambda _, group: "n2" in group,
        member_ids=[member.id],
        input={"allocation_id": ordeal.ground.allocation("n3")},
    )
    before = await plant.changes("n2")
    await ordeal.endured(
        "add_worker",
        ADD_BARE,
        lambda _, group: group["n2"].status is not MemberStatus.READY,
        input={"allocation_ids": [ordeal.ground.allocation("n2")]},
    )
    assert await plant.changes("n2", "n3") - before == {"n2": 1, "n3": 1}
    assert set(await members(ordeal.site, ordeal.instance_id)) == {"n1", "n2", "n3"}
    assert await plant.ordeal.person("srun -N2 hostname | sort | paste -sd,") == "n2,n3"


def _parted() -> dict[str, Any]:
    return {"partitions": PARTITIONS}


def _at(version: str) -> Callable[[AppInstance, object], bool]:
    return lambda instance, _: instance.app_version == version
