"""Workers' operations and the end of a cluster: each step failed for real, each step's end a kill.

n1 controls, n2 and n4 work, n3 is a spare until it takes n2's place; n2 then comes and goes again,
and n4 is given up. The tests share the cluster and stand in this order; `slurm_ordeal.py` says what
each operation goes through. What would show a doubled effect is counted where it happens: on the
machines and in the scheduler's own records.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

import pytest
from slurm_faults import (
    ADD,
    DECOMMISSION,
    DRAIN,
    REMOVE,
    REMOVE_SHARED,
    REPAIR_ASIDE,
    REPLACE,
    REPLACE_SHARED,
    RESUME,
    SCONTROL,
    SUITE,
)
from slurm_ordeal import Ordeal, ordeal_up, repaired
from slurm_refusal import refused

from gpuaas_contract.apps import Member, Operation, ReasonGiven
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus, OperationStatus
from gpuaas_sdk import Request
from gpuaas_slurm.onmachine.scripts import HOME
from tools.ground import Ground
from tools.slurm_crew import (
    PERSON,
    members,
    operations,
    packages_wanted,
    placed,
    succeeded,
    told,
    until,
)

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.in_order,
    pytest.mark.rotates("every step killed and failed"),
]

PEOPLE: Final = f"{HOME}/people.ours"


@pytest.fixture(scope="module")
async def ordeal(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Ordeal]:
    ground = await ground_factory("slurm-day2", 4, SUITE, await packages_wanted(SUITE))
    async with ordeal_up(ground, SUITE, ["n2", "n4"]) as made:
        yield made


async def test_a_drain_endures_everything_and_its_job_does_not_notice(ordeal: Ordeal) -> None:
    job, person = await ordeal.job_start("n2"), await ordeal.run("n1", PERSON)
    member = await ordeal.member("n2")

    async def waits() -> bool:
        drain = (await operations(ordeal.site, ordeal.instance_id))[0]
        return any(f"job {job} of {person} (running)" in step.message for step in drain.progress)

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
    job, person = await ordeal.job_start("n2"), await ordeal.run("n1", PERSON)
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
    assert f"job {job} of {person} (running)" in failed.error.message
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
        REPLACE,
        _still("n2"),
        member_ids=[member.id],
        input={"allocation_id": ordeal.ground.allocation("n3")},
    )
    assert await ordeal.starts("n1") == before
    assert await ordeal.starts("n3") == {"n3 munge": 1, "n3 slurmd": 1}
    assert len((await ordeal.run("n3", f"cat {PEOPLE}")).splitlines()) == 1
    assert await ordeal.nodes() == ["n3", "n4"]
    assert await ordeal.run("n1", "sinfo -h -R") == ""
    assert await ordeal.person("srun --chdir=/ -w n3 hostname") == "n3"
    assert set(await members(ordeal.site, ordeal.instance_id)) == {"n1", "n3", "n4"}
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
        ADD,
        lambda _, group: group["n2"].status is not MemberStatus.READY,
        input={"allocation_ids": [ordeal.ground.allocation("n2")]},
    )
    began = await ordeal.starts("n1", "n2", "n3") - before
    assert (began.pop("n2 slurmd"), began.pop("n2 munge", 1), began) == (1, 1, {})
    assert await ordeal.person("srun --chdir=/ -w n2 hostname") == "n2"
    await ordeal.healthy()


async def test_a_worker_that_goes_endures_everything(ordeal: Ordeal) -> None:
    member = await ordeal.member("n2")
    before = await ordeal.starts("n1", "n3")
    await ordeal.endured("remove_worker", REMOVE, _still("n2"), member_ids=[member.id])
    assert await ordeal.starts("n1", "n3") == before
    assert set(await members(ordeal.site, ordeal.instance_id)) == {"n1", "n3", "n4"}
    assert await ordeal.nodes() == ["n3", "n4"]
    assert await ordeal.residue("n2") == {}
    await ordeal.healthy()


async def test_a_worker_that_was_given_up_is_cleaned_and_forgotten_once(ordeal: Ordeal) -> None:
    member = await ordeal.member("n4")
    cause = refused("n1", SCONTROL, "*State=DRAIN*")
    await cause.place(ordeal.site)
    asked = await ordeal.site.ask(ordeal.instance_id, "remove_worker", member_ids=[member.id])

    def failed(one: Operation) -> bool:
        return one.error is not None and one.error.detail.get("step") == "drain"

    await until(lambda: ordeal.site.operation(asked.operation.id), failed)
    reason = ReasonGiven(reason="Nobody waits for it any more.")
    path = f"/operations/{asked.operation.id}/abandon"
    await ordeal.site.admin.send(Request("POST", path, reason))
    await cause.remove(ordeal.site)
    assert (await ordeal.member("n4")).status is MemberStatus.CLEANUP_BLOCKED
    assert await ordeal.nodes() == ["n3", "n4"]

    before = await ordeal.stops("n1", "n3", "n4"), await ordeal.starts("n1", "n3")
    await ordeal.endured("reconcile", REPAIR_ASIDE, repaired)
    assert await ordeal.nodes() == ["n3"]
    assert "n4" not in await members(ordeal.site, ordeal.instance_id)
    assert await ordeal.residue("n4") == {}
    stopped = await ordeal.stops("n1", "n3", "n4") - before[0]
    assert (stopped.pop("n4 slurmd"), stopped.pop("n4 munge", 1), stopped) == (1, 1, {})
    assert await ordeal.starts("n1", "n3") == before[1]
    await ordeal.healthy()


async def test_a_worker_beside_the_controller_goes_and_the_controller_does_not_notice(
    ordeal: Ordeal,
) -> None:
    beside = {"allocation_ids": [ordeal.ground.allocation("n1")]}
    await ordeal.done("add_worker", input=beside)
    assert await ordeal.nodes() == ["n1", "n3"]
    before = await ordeal.starts("n1")
    await ordeal.endured(
        "replace_worker",
        REPLACE_SHARED,
        _still("n1"),
        member_ids=[(await ordeal.member("n1")).id],
        input={"allocation_id": ordeal.ground.allocation("n2")},
    )
    assert await ordeal.nodes() == ["n2", "n3"]
    await ordeal.done("add_worker", input=beside)
    await ordeal.endured(
        "remove_worker",
        REMOVE_SHARED,
        _still("n1"),
        member_ids=[(await ordeal.member("n1")).id],
    )
    assert await ordeal.nodes() == ["n2", "n3"]
    await ordeal.healthy()
    # What the controller reads was not written again, so that nothing of it had to start anew.
    assert await ordeal.starts("n1") - before == {"n1 slurmd": 1}


async def test_a_decommission_endures_everything(ordeal: Ordeal) -> None:
    await ordeal.job_start("n3")
    await ordeal.endured(
        "decommission",
        DECOMMISSION,
        lambda instance, _: instance.status is InstanceStatus.DELETING,
    )
    assert (await ordeal.instance()).status is InstanceStatus.DELETED
    for machine in ("n1", "n2", "n3"):
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


def _still(machine: str) -> Callable[[object, Mapping[str, Member]], bool]:
    return lambda _, group: machine in group
