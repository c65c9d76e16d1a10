"""The cluster as a whole, and its repairs: each step failed for real, each step's end a kill.

n1 controls, n2 and n3 work. The tests share the cluster and stand in this order; `slurm_ordeal.py`
says what each operation goes through. A job is there throughout: put back into the queue once by
the stop, and untouched by everything else.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
from slurm_ordeal import Faults, Ordeal, ordeal_up
from slurm_refusal import masked, nodes_refused, port_taken, refused

from gpuaas_contract.apps import AppInstance
from gpuaas_contract.states import InstanceStatus
from gpuaas_slurm.command.controller import manifest_text
from tools.ground import Ground
from tools.suites import suites

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]

SUITE: Final = suites()[0]
SYSTEMCTL: Final = "/usr/bin/systemctl"

STOP: Final[Faults] = (
    {"jobs": refused("n1", "/usr/bin/scontrol", "requeue*")},
    {"stop_slurmd": refused("n2", SYSTEMCTL, "'stop slurmd'")},
    {"stop_slurmctld": refused("n1", SYSTEMCTL, "'stop slurmctld'")},
    {"stop_munge": refused("n3", SYSTEMCTL, "'stop munge'")},
)
START: Final[Faults] = (
    {"preflight": port_taken("n1", 6817)},
    {"munge": masked("n3", "munge")},
    {"database": masked("n1", "mariadb")},
    {"slurmdbd": masked("n1", "slurmdbd")},
    {"slurmctld": masked("n1", "slurmctld")},
    {"slurmd": masked("n2", "slurmd")},
    {"register": nodes_refused("n1", SUITE)},
)
RESTART: Final[Faults] = (
    {"restart_slurmdbd": masked("n1", "slurmdbd")},
    {"restart_slurmctld": masked("n1", "slurmctld")},
    {"restart_slurmd": masked("n2", "slurmd")},
    {"register": nodes_refused("n1", SUITE)},
)
REPAIR: Final[Faults] = (
    {"repair_configure": refused("n1", "/usr/bin/tar")},
    {"repair_munge": masked("n2", "munge")},
    {"repair_mariadb": masked("n1", "mariadb")},
    {"repair_slurmdbd": masked("n1", "slurmdbd")},
    {"repair_slurmctld": masked("n1", "slurmctld")},
    {"repair_people": refused("n2", "/usr/sbin/usermod")},
    {"repair_slurmd": masked("n2", "slurmd")},
    {"repair_slurmd_again": refused("n3", SYSTEMCTL, "'restart slurmd'")},
)
REPAIR_MORE: Final[Faults] = (
    {"repair_key": refused("n3", SYSTEMCTL, "'stop munge'")},
    {"repair_admit": refused("n1", "/usr/bin/scontrol", "update*")},
)
EVERY: Final = (
    *("n1 slurmctld", "n1 slurmdbd", "n1 mariadb", "n1 munge"),
    *("n2 slurmd", "n2 munge", "n3 slurmd", "n3 munge"),
)
"""Every service of the cluster."""
CRASHED: Final = {
    "test_slurm_crash.py": {"deploy", "add_worker", "remove_worker"},
    "test_slurm_upgrade.py": {"upgrade", "rollback"},
    "test_slurm_crash_day2.py": {
        "drain_worker", "resume_worker", "replace_worker", "decommission"
    },
    "test_slurm_crash_whole.py": {"stop", "start", "restart", "reconcile"},
}  # fmt: skip
"""Which file kills controllers at the steps of which operations."""


def test_no_operation_of_the_app_is_spared() -> None:
    known = {one["kind"] for one in json.loads(manifest_text())["operations"]}
    assert set.union(*CRASHED.values()) == known
    for name, kinds in CRASHED.items():
        text = Path(__file__).with_name(name).read_text()
        assert [
            kind for kind in sorted(kinds) if f'"{kind}"' not in text and kind != "deploy"
        ] == []


@pytest.fixture(scope="module")
async def ordeal(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Ordeal]:
    ground = await ground_factory("slurm-whole", 3, SUITE)
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
    before = await ordeal.starts("n1", "n2", "n3")
    between = {InstanceStatus.STOPPING, InstanceStatus.DEGRADED}
    await ordeal.endured("restart", RESTART, lambda instance, _: instance.status in between)
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(
        ["n1 slurmdbd", "n1 slurmctld", "n2 slurmd", "n3 slurmd"]
    )
    await ordeal.healthy()
    assert await ordeal.job(job) == "RUNNING 0"
    await ordeal.job_end("n2")


async def test_repairs_endure_everything_and_the_job_does_not_notice(ordeal: Ordeal) -> None:
    job = await ordeal.job_start("n2")
    person = await ordeal.run("n2", "cut -d: -f1 /var/lib/gpuaas-slurm/people.ours")
    await ordeal.run("n1", "scontrol delete NodeName=n3")
    await ordeal.run("n1", "echo '# by hand' >>/etc/slurm/slurm.conf")
    await ordeal.run("n1", "systemctl stop slurmctld slurmdbd mariadb")
    await ordeal.run("n2", f"systemctl stop slurmd munge; usermod -s /usr/sbin/nologin {person}")
    before = await ordeal.starts("n1", "n2", "n3")
    await ordeal.endured("reconcile", REPAIR, _anything)
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(
        ["n1 mariadb", "n1 slurmdbd", "n1 slurmctld", "n2 munge", "n2 slurmd", "n3 slurmd"]
    )
    await ordeal.healthy()
    assert await ordeal.run("n1", "srun --chdir=/ -w n3 hostname") == "n3"
    assert await ordeal.job(job) == "RUNNING 0"
    await ordeal.job_end("n2")


async def test_a_foreign_key_and_a_closed_node_are_repaired_once(ordeal: Ordeal) -> None:
    job = await ordeal.job_start("n2")
    await ordeal.run("n3", "head -c 1024 /dev/urandom >/etc/munge/munge.key")
    features = "AvailableFeatures=elsewhere ActiveFeatures=elsewhere"
    await ordeal.run("n1", f"scontrol update NodeName=n2 {features}")
    before = await ordeal.starts("n1", "n2", "n3")
    await ordeal.endured("reconcile", REPAIR_MORE, _anything)
    assert await ordeal.starts("n1", "n2", "n3") - before == Counter(["n3 munge"])
    await ordeal.healthy()
    assert await ordeal.job(job) == "RUNNING 0"
    await ordeal.job_end("n2")


def _anything(instance: AppInstance, _: object) -> bool:
    """A repair that failed changes no state: what is there was seen before it."""
    return instance.status in {InstanceStatus.RUNNING, InstanceStatus.DEGRADED}
