"""The cluster as a whole, and its repairs: each step failed for real, each step's end a kill.

n1 controls, n2 and n3 work. The tests share the cluster and stand in this order; `slurm_ordeal.py`
says what each operation goes through. A job is there throughout: put back into the queue once by
the stop, and untouched by everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest
from slurm_faults import (
    REPAIR,
    REPAIR_KEY,
    REPAIR_LOST,
    RESTART,
    RESTART_QUIET,
    START,
    STOP,
    SUITE,
)
from slurm_ordeal import Ordeal, ordeal_up, repaired

from gpuaas_contract.states import InstanceStatus
from tools.ground import Ground
from tools.slurm_crew import packages_wanted

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.in_order,
    pytest.mark.rotates("every step killed and failed"),
]

EVERY: Final = (
    *("n1 slurmctld", "n1 slurmdbd", "n1 mariadb", "n1 munge"),
    *("n2 slurmd", "n2 munge", "n3 slurmd", "n3 munge"),
)
"""Every service of the cluster."""
RESTARTED: Final = ("n1 slurmdbd", "n1 slurmctld", "n2 slurmd", "n3 slurmd")
"""Those of the scheduler."""


@pytest.fixture(scope="module")
async def ordeal(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Ordeal]:
    ground = await ground_factory("slurm-whole", 3, SUITE, await packages_wanted(SUITE))
    async with ordeal_up(ground, SUITE, ["n2", "n3"]) as made:
        yield made


async def test_a_stop_endures_everything(ordeal: Ordeal) -> None:
    job = await ordeal.job_start("n2")
    before = await ordeal.stops("n1", "n2", "n3")
    between = {InstanceStatus.STOPPING, InstanceStatus.DEGRADED}
    await ordeal.endured(
        "stop", STOP, lambda instance, _: instance.status in between, input={"jobs": "requeue"}
    )
    assert (await ordeal.instance()).status is InstanceStatus.STOPPED
    assert await ordeal.stops("n1", "n2", "n3") - before == Counter(EVERY)
    ordeal.kept["requeued"] = job


async def test_a_start_endures_everything(ordeal: Ordeal) -> None:
    before = await ordeal.starts("n1", "n2", "n3")
    between = {InstanceStatus.STARTING, InstanceStatus.DEGRADED}
    await ordeal.endured("start", START, lambda instance, _: instance.status in between)
    await ordeal.healthy()
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(EVERY)
    # Put back once, however often the stop that did it died.
    job = ordeal.kept["requeued"]
    assert await ordeal.job(job) in {"PENDING 1", "RUNNING 1"}
    await ordeal.run("n1", f"scancel {job}")


async def test_a_restart_endures_everything_and_its_job_does_not_notice(ordeal: Ordeal) -> None:
    job = await ordeal.job_start("n2")
    await ordeal.run("n3", "systemctl stop munge")
    await ordeal.run("n1", "systemctl stop mariadb")
    before = await ordeal.starts("n1", "n2", "n3")
    between = {InstanceStatus.STOPPING, InstanceStatus.DEGRADED}
    await ordeal.endured("restart", RESTART, lambda instance, _: instance.status in between)
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(
        [*RESTARTED, "n1 mariadb", "n3 munge"]
    )
    await ordeal.healthy()
    assert await ordeal.job(job) == "RUNNING 0"
    ordeal.kept["running"] = job


async def test_a_restart_that_is_to_put_jobs_back_does_so_once(ordeal: Ordeal) -> None:
    job = ordeal.kept["running"]
    before = await ordeal.starts("n1", "n2", "n3")
    between = {InstanceStatus.STOPPING, InstanceStatus.DEGRADED}
    await ordeal.endured(
        "restart",
        RESTART_QUIET,
        lambda instance, _: instance.status in between,
        input={"jobs": "requeue"},
    )
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(RESTARTED)
    assert await ordeal.job(job) in {"PENDING 1", "RUNNING 1"}
    await ordeal.run("n1", f"scancel {job}")


async def test_repairs_endure_everything_and_the_job_does_not_notice(ordeal: Ordeal) -> None:
    job = await ordeal.job_start("n2")
    person = await ordeal.run("n2", "cut -d: -f1 /var/lib/gpuaas-slurm/people.ours")
    await ordeal.run("n1", "scontrol delete NodeName=n3")
    await ordeal.run("n1", "echo '# by hand' >>/etc/slurm/slurm.conf")
    await ordeal.run("n1", "systemctl stop slurmctld slurmdbd mariadb")
    await ordeal.run("n2", f"systemctl stop slurmd munge; usermod -s /usr/sbin/nologin {person}")
    before = await ordeal.starts("n1", "n2", "n3")
    await ordeal.endured("reconcile", REPAIR, repaired)
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(
        ["n1 mariadb", "n1 slurmdbd", "n1 slurmctld", "n2 munge", "n2 slurmd", "n3 slurmd"]
    )
    await ordeal.healthy()
    assert await ordeal.person("srun --chdir=/ -w n3 hostname") == "n3"
    assert await ordeal.job(job) == "RUNNING 0"
    ordeal.kept["running"] = job


async def test_a_foreign_key_a_closed_node_and_a_lost_one_are_repaired_once(
    ordeal: Ordeal,
) -> None:
    await ordeal.run("n3", "head -c 1024 /dev/urandom >/etc/munge/munge.key")
    features = "AvailableFeatures=elsewhere ActiveFeatures=elsewhere"
    await ordeal.run("n1", f"scontrol update NodeName=n2 {features}")
    await ordeal.run("n1", "scontrol delete NodeName=n3")
    before = await ordeal.starts("n1", "n2", "n3")
    await ordeal.endured("reconcile", REPAIR_KEY, repaired)
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(["n3 munge", "n3 slurmd"])
    await ordeal.healthy()


async def test_a_node_that_comes_back_while_nobody_tells_of_nodes_does_so_once(
    ordeal: Ordeal,
) -> None:
    await ordeal.run("n1", "scontrol delete NodeName=n3")
    before = await ordeal.starts("n1", "n2", "n3")
    await ordeal.endured("reconcile", REPAIR_LOST, repaired)
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(["n3 slurmd"])
    await ordeal.healthy()
    assert await ordeal.job(ordeal.kept["running"]) == "RUNNING 0"
    await ordeal.job_end("n2")
