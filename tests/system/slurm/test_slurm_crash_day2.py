"""Workers' operations and the end of a cluster: each step failed for real, each step's end a kill.

n1 controls, n2 works, n3 is a spare until it takes n2's place; n2 then comes and goes again. The
tests share the cluster and stand in this order; `slurm_ordeal.py` says what each operation goes
through. What would show a doubled effect is counted where it happens: on the machines and in the
scheduler's own records.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest
from slurm_ordeal import Faults, Ordeal, ordeal_up
from slurm_refusal import (
    busy_folder,
    masked,
    nodes_refused,
    port_taken,
    refused,
    waiting_job,
)

from gpuaas_contract.apps import Member
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus, OperationStatus
from gpuaas_slurm.onmachine.scripts import HOME
from tools.ground import Ground
from tools.slurm_crew import members, operations, placed, succeeded, told, until
from tools.suites import suites

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]

SUITE: Final = suites()[0]
SCONTROL: Final = "/usr/bin/scontrol"
SYSTEMCTL: Final = "/usr/bin/systemctl"

DRAIN: Final[Faults] = (
    {"drain": refused("n1", SCONTROL, "*State=DRAIN*")},
    {"jobs_end": None},
)
RESUME: Final[Faults] = ({"resume": refused("n1", SCONTROL, "*State=RESUME*")},)


def joins(machine: str) -> Faults:
    """Why each step of a worker that comes fails."""
    return (
        {"preflight": port_taken(machine, 6818)},
        {
            "munge": masked(machine, "munge"),
            "configure": refused(machine, "/usr/bin/tar"),
            "people": refused(machine, "/usr/sbin/useradd"),
        },
        {"slurmd": masked(machine, "slurmd")},
        {"register": nodes_refused("n1", SUITE)},
        {"test_job": refused("n1", "/usr/bin/srun")},
        {"admit": refused("n1", SCONTROL, "update*")},
    )


def leaves(machine: str) -> Faults:
    """Why each step of a worker that goes fails."""
    return (
        {"drain": refused("n1", SCONTROL, "*State=DRAIN*")},
        {"records_end": waiting_job("n1", machine)},
        {"stop_slurmd": refused(machine, SYSTEMCTL, "'stop slurmd'")},
        {"forget": refused("n1", SCONTROL, "delete*")},
        {"clean": busy_folder(machine, HOME)},
    )


def decommission(worker: str) -> Faults:
    """Why each step of the end fails."""
    return (
        {"jobs": refused("n1", "/usr/bin/scancel")},
        {"stop_slurmd": refused(worker, SYSTEMCTL, "'stop slurmd'")},
        {"stop_slurmctld": refused("n1", SYSTEMCTL, "'stop slurmctld'")},
        {"stop_munge": refused(worker, SYSTEMCTL, "'stop munge'")},
        {"clean": busy_folder("n1", HOME)},
        {"key": None},
    )


@pytest.fixture(scope="module")
async def ordeal(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Ordeal]:
    ground = await ground_factory("slurm-day2", 3, SUITE)
    async with ordeal_up(ground, SUITE, ["n2"]) as made:
        yield made


async def test_a_drain_endures_everything_and_its_job_does_not_notice(ordeal: Ordeal) -> None:
    job = await ordeal.job_start("n2")
    member = await ordeal.member("n2")

    async def waits() -> bool:
        drain = (await operations(ordeal.site, ordeal.instance_id))[0]
        return any(f"job {job} of root (running)" in step.message for step in drain.progress)

    async def let_go() -> None:
        await until(waits, bool, 180)
        assert await ordeal.job(job) == "RUNNING 0"
        await ordeal.job_end("n2")

    ended, _ = await asyncio.gather(
        ordeal.endured(
            "drain_worker",
            DRAIN,
            lambda _, group: group["n2"].status is not MemberStatus.DRAINED,
            member_ids=[member.id],
        ),
        let_go(),
    )
    assert await ordeal.node_updates("n2") == 1
    assert f"gpuaas:{ended.id}" in await ordeal.run("n1", "sinfo -h -R -o %E")
    assert await ordeal.run("n1", f"sacct -X -n -P -j {job} -o state") == "COMPLETED"
    drained = await ordeal.member("n2")
    assert (drained.status, drained.health) == (MemberStatus.DRAINED, Health.DRAINED)


async def test_a_resume_endures_everything(ordeal: Ordeal) -> None:
    member = await ordeal.member("n2")
    before = await ordeal.node_updates("n2")
    await ordeal.endured(
        "resume_worker",
        RESUME,
        lambda _, group: group["n2"].status is not MemberStatus.READY,
        member_ids=[member.id],
    )
    assert await ordeal.node_updates("n2") == before + 1
    assert await ordeal.run("n1", "sinfo -h -R") == ""
    await ordeal.healthy()


async def test_a_drain_whose_time_is_over_leaves_the_job_and_is_taken_back(ordeal: Ordeal) -> None:
    job = await ordeal.job_start("n2")
    member = await ordeal.member("n2")
    asked = await ordeal.site.ask(
        ordeal.instance_id,
        "drain_worker",
        member_ids=[member.id],
        input={"deadline_minutes": 0, "on_deadline": "ask"},
    )
    [failed] = await ordeal.site.ended(asked)
    assert failed.status is OperationStatus.FAILED, told(failed)
    assert failed.error is not None
    assert (failed.error.code, failed.error.detail["step"]) == ("jobs_still_run", "jobs_end")
    assert f"job {job} of root (running)" in failed.error.message
    assert (await ordeal.member("n2")).status is MemberStatus.DEGRADED
    await ordeal.done("resume_worker", member_ids=[member.id])
    assert (await ordeal.member("n2")).status is MemberStatus.READY
    assert await ordeal.job(job) == "RUNNING 0"
    await ordeal.job_end("n2")
    await ordeal.healthy()


async def test_a_replacement_endures_everything(ordeal: Ordeal) -> None:
    member = await ordeal.member("n2")
    before = await ordeal.starts("n1")
    await ordeal.endured(
        "replace_worker",
        (*joins("n3"), *leaves("n2")),
        lambda _, group: "n2" in group,
        member_ids=[member.id],
        input={"allocation_id": ordeal.ground.allocation("n3")},
    )
    assert await ordeal.starts("n1") == before
    assert await ordeal.starts("n3") == {"n3 munge": 1, "n3 slurmd": 1}
    assert len((await ordeal.run("n3", f"cat {HOME}/people.ours")).splitlines()) == 1
    assert await ordeal.run("n1", "sinfo -h -N -o %N | sort -u") == "n3"
    assert await ordeal.run("n1", "sinfo -h -R") == ""
    assert await ordeal.run("n1", "srun --chdir=/ hostname") == "n3"
    assert set(await members(ordeal.site, ordeal.instance_id)) == {"n1", "n3"}
    path = f"/app-instances/{ordeal.instance_id}/members"
    listed = [one async for one in ordeal.site.admin.pages(path, Member, removed=True)]
    [gone] = [one for one in listed if one.status is MemberStatus.REMOVED]
    assert gone.id == member.id
    assert gone.absence is not None
    assert gone.absence.runtime_verified_absent
    await ordeal.healthy()


async def test_a_worker_that_comes_endures_everything(ordeal: Ordeal) -> None:
    before = await ordeal.starts("n1", "n2", "n3")
    await ordeal.endured(
        "add_worker",
        joins("n2"),
        lambda _, group: group["n2"].status is not MemberStatus.READY,
        input={"allocation_ids": [ordeal.ground.allocation("n2")]},
    )
    began = await ordeal.starts("n1", "n2", "n3") - before
    assert (began.pop("n2 slurmd"), began.pop("n2 munge", 1), began) == (1, 1, {})
    assert await ordeal.run("n1", "srun --chdir=/ -w n2 hostname") == "n2"
    await ordeal.healthy()


async def test_a_worker_that_goes_endures_everything(ordeal: Ordeal) -> None:
    member = await ordeal.member("n2")
    before = await ordeal.starts("n1", "n3")
    await ordeal.endured(
        "remove_worker", leaves("n2"), lambda _, group: "n2" in group, member_ids=[member.id]
    )
    assert await ordeal.starts("n1", "n3") == before
    assert set(await members(ordeal.site, ordeal.instance_id)) == {"n1", "n3"}
    assert await ordeal.run("n1", "sinfo -h -N -o %N | sort -u") == "n3"
    assert await ordeal.residue("n2") == {}
    await ordeal.healthy()


async def test_a_decommission_endures_everything(ordeal: Ordeal) -> None:
    [worker] = set(await members(ordeal.site, ordeal.instance_id)) - {"n1"}
    await ordeal.job_start(worker)
    await ordeal.endured(
        "decommission",
        decommission(worker),
        lambda instance, _: instance.status is InstanceStatus.DELETING,
    )
    assert (await ordeal.instance()).status is InstanceStatus.DELETED
    for machine in ("n1", worker):
        assert await ordeal.residue(machine) == {}
        # What was there before the cluster runs again, and was not stopped once more.
        assert await ordeal.run(machine, "systemctl is-active munge") == "active"


async def test_a_machine_that_does_not_answer_is_set_aside_and_cleaned_when_it_is_back(
    ordeal: Ordeal,
) -> None:
    await ordeal.immortal()
    wanted = placed(ordeal.ground, "n1", ["n2", "n3"], packages="installed", finished_job_seconds=2)
    asked = await succeeded(ordeal.site, await ordeal.site.deploy("second", wanted))
    ordeal.instance_id = asked.instance.id
    await ordeal.ground.lab.machine("n3").pull_plug()
    await ordeal.done("decommission")
    instance = await ordeal.instance()
    assert instance.status is InstanceStatus.CLEANUP_BLOCKED
    assert instance.adapter_detail is not None
    assert "nothing is left of 2 of 3 members" in instance.adapter_detail.summary
    for machine in ("n1", "n2"):
        assert await ordeal.residue(machine) == {}
    aside = await members(ordeal.site, ordeal.instance_id)
    assert {name: one.status for name, one in aside.items()} == {"n3": MemberStatus.CLEANUP_BLOCKED}
    assert aside["n3"].absence is not None
    assert "unreachable" in aside["n3"].absence.evidence
    assert "reconcile" in {way.action for way in aside["n3"].next_actions}

    await ordeal.ground.lab.machine("n3").boot()
    assert HOME in (await ordeal.residue("n3"))["file"]

    async def reconciled() -> InstanceStatus:
        await ordeal.done("reconcile")
        return (await ordeal.instance()).status

    await until(reconciled, lambda status: status is InstanceStatus.DELETED)
    assert await ordeal.residue("n3") == {}
