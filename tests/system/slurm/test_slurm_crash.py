"""The app's controller dies at any moment: at the steps of a deploy and a removal, and of replicas.

Each test goes on with the cluster the one before left. Machines have their packages already, so
that a step takes moments. A controller is killed (-9) in the moment the platform shows a step as
begun: all steps before it are done, and this one is under way on a machine. What must hold at the
end is that it converged and that nothing was done twice. At the end a deploy goes through what
`slurm_ordeal.py` has for it: each step fails for real, and kills when it has ended.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from slurm_faults import DEPLOY, SUITE
from slurm_ordeal import ordeal_begin

from gpuaas_contract.apps import Operation, Requested
from gpuaas_contract.states import Health, InstanceStatus, OperationStatus, StepState
from gpuaas_lab.ssh import Result
from gpuaas_sdk import Request
from tools.ground import Ground
from tools.slurm_crew import (
    killed,
    members,
    packages_settle,
    packages_wanted,
    placed,
    succeeded,
    told,
    until,
)
from tools.slurm_site import ENDED, SlurmSite, manifest_hasty, slurm_up

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.in_order,
    pytest.mark.rotates("every step killed and failed"),
]

# The shortest lease there is, so that a dead controller's work is soon another's.
OPTIONS = ("--lease-seconds", "5", "--observe-seconds", "2")
STARTS = "journalctl -q -o cat -u {unit} | grep -c '^Started {unit}.service' || true"


@pytest.fixture(scope="module")
async def site(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[SlurmSite]:
    """Four machines with packages, and a controller."""
    ground = await ground_factory("slurm-crash", 4, SUITE, await packages_wanted(SUITE))
    await packages_settle(SUITE, ground.lab.machines)
    async with slurm_up(ground, options=OPTIONS, manifest=await manifest_hasty()) as made:
        yield made


async def test_no_job_ever_meets_a_missing_account(site: SlurmSite) -> None:
    head = site.ground.lab.machine("n1")
    await head.write("/root/loop.sh", SUBMITTING, 0o755)
    await head.run("systemd-run -q --unit=submitting /root/loop.sh")
    await _deploy(site, "early")
    said = (await until(lambda: head.run("cat /root/said"), _five_taken)).stdout
    await head.run("touch /run/enough; while systemctl -q is-active submitting; do sleep .1; done")
    assert not [line for line in said.splitlines() if "account" in line.lower()]
    jobs = [line for line in said.splitlines() if line.isdigit()]
    ended = await until(
        lambda: head.run("sacct -a -X -n -P -o jobid,account,state --starttime=now-1hour"),
        lambda ran: all(f"{job}|early|COMPLETED" in ran.stdout.splitlines() for job in jobs),
    )
    assert "FAILED" not in ended.stdout
    await _decommission(site)


SUBMITTING = """#!/bin/sh
# As one of the project's people, from the first moment the scheduler answers, without a pause.
exec >/root/said 2>&1
until scontrol ping 2>/dev/null | grep -q UP; do :; done
user=$(getent passwd | awk -F: '$3 > 200000 && $3 < 1000000000 {print $1; exit}')
until [ -e /run/enough ]; do
    runuser -u "$user" -- sbatch --parsable --chdir=/ --output=/dev/null --wrap=true
    squeue -h -o %r
done
rm /run/enough
"""


def _five_taken(ran: Result) -> bool:
    return sum(line.isdigit() for line in ran.stdout.splitlines()) >= 5


async def test_a_deploy_survives_a_kill_at_each_of_its_steps(site: SlurmSite) -> None:
    workers = ("n2", "n3")
    wanted = placed(site.ground, "n1", workers, packages="installed", finished_job_seconds=2)
    asked = await site.deploy("crashed", wanted)
    killed_at = await _killed_at_each_step(site, asked.operation)
    assert killed_at[0] == "preflight"
    assert {"munge", "configure", "database", "slurmdbd", "accounts", "slurmctld"} <= set(killed_at)
    await _healthy(site, asked.instance.id)
    for unit in ("munge", "mariadb", "slurmdbd", "slurmctld"):
        assert await _starts(site, "n1", unit) == 1, unit
    for machine in workers:
        assert await _starts(site, machine, "slurmd") == 1
    await _tree_is_whole(site, "crashed")
    instance = await site.instance(asked.instance.id)
    assert instance.adapter_detail is not None
    assert instance.adapter_detail.detail["generation"] == 1


async def test_two_replicas_share_the_work_and_either_may_die(site: SlurmSite) -> None:
    instance_id = await _instance_id(site)
    first = site.process
    assert first is not None
    second = await site.controller_start()
    group = await members(site, instance_id)
    asked = await site.ask(instance_id, "drain_worker", member_ids=[group["n2"].id, group["n3"].id])
    await succeeded(site, asked)
    asked = await site.ask(
        instance_id, "resume_worker", member_ids=[group["n2"].id, group["n3"].id]
    )
    await killed(first)
    await succeeded(site, asked)
    wanted = {"allocation_ids": [site.ground.allocation("n4")]}
    asked = await site.ask(instance_id, "add_worker", input=wanted)
    third = await site.controller_start()
    await until(lambda: site.operation(asked.operation.id), lambda one: one.lease is not None)
    await killed(second)
    await succeeded(site, asked)
    await _healthy(site, instance_id)
    assert third.returncode is None


async def test_removing_a_worker_survives_a_kill_at_each_of_its_steps(site: SlurmSite) -> None:
    instance_id = await _instance_id(site)
    before = await _main_pids(site, "n1"), await _main_pids(site, "n2")
    member = (await members(site, instance_id))["n3"]
    asked = await site.ask(instance_id, "remove_worker", member_ids=[member.id])
    killed_at = await _killed_at_each_step(site, asked.operation)
    assert {"drain", "stop_slurmd", "forget", "clean"} <= set(killed_at)
    await _healthy(site, instance_id)
    assert "n3" not in await members(site, instance_id)
    assert (await _main_pids(site, "n1"), await _main_pids(site, "n2")) == before
    known = await site.ground.lab.machine("n1").run("sinfo -h -N -o %N | sort -u")
    assert known.stdout.split() == ["n2", "n4"]
    await _decommission(site)


async def test_a_deploy_endures_everything(site: SlurmSite) -> None:
    ordeal = await ordeal_begin(site)
    wanted = placed(site.ground, "n1", ["n2"], packages="installed", finished_job_seconds=2)
    await ordeal.deployed("endured", wanted, DEPLOY)
    await ordeal.healthy()
    assert await ordeal.starts("n1", "n2") == Counter(
        ["n1 munge", "n1 mariadb", "n1 slurmdbd", "n1 slurmctld", "n2 munge", "n2 slurmd"]
    )
    await _tree_is_whole(site, "endured")
    await ordeal.immortal()
    await _decommission(site)


async def _killed_at_each_step(site: SlurmSite, operation: Operation) -> list[str]:
    """Kill the controller at each step the moment it is shown as begun; return those steps."""
    done: list[str] = []

    async def look() -> Operation:
        return await site.operation(operation.id)

    def news(one: Operation) -> bool:
        return one.status in ENDED or bool(_running(one) - set(done))

    while True:
        seen = await until(look, news, closely=True)
        if seen.status is OperationStatus.FAILED:
            # Its controllers died more often than it may be tried: a person tries again.
            assert seen.error is not None
            assert seen.error.code == "attempts_exhausted", told(seen)
            await _again(site, operation)
            continue
        if seen.status in ENDED:
            assert seen.status is OperationStatus.SUCCEEDED, told(seen)
            return done
        done += sorted(_running(seen) - set(done))
        assert site.process is not None
        await killed(site.process)
        await site.controller_start()


def _running(operation: Operation) -> set[str]:
    """Steps under way; one that was so when its controller died is still shown as such."""
    if operation.lease is None:
        return set()
    return {step.name for step in operation.progress if step.state is StepState.RUNNING}


async def _again(site: SlurmSite, operation: Operation) -> None:
    """Try again, if it has ended; one that will be tried again by itself is left alone."""
    found = await site.operation(operation.id)
    if found.status is OperationStatus.FAILED:
        assert "retry" in {action.action for action in found.next_actions}
        await site.admin.send(Request("POST", f"/operations/{operation.id}/retry"))


async def _deploy(site: SlurmSite, name: str) -> Requested:
    wanted = placed(site.ground, "n1", ["n2"], packages="installed", finished_job_seconds=2)
    asked = await succeeded(site, await site.deploy(name, wanted))
    await _healthy(site, asked.instance.id)
    return asked


async def _decommission(site: SlurmSite) -> None:
    await succeeded(site, await site.ask(await _instance_id(site), "decommission"))
    # A journal is a machine's memory of starts: the next cluster begins with none.
    await asyncio.gather(
        *(
            machine.run("journalctl -q --rotate && journalctl -q --vacuum-time=1s")
            for machine in site.ground.lab.machines
        )
    )


async def _instance_id(site: SlurmSite) -> str:
    path = f"/projects/{site.ground.project_id}/app-instances"
    answer = (await site.admin.send(Request("GET", path))).json()
    live = [one["id"] for one in answer["items"] if one["status"] != InstanceStatus.DELETED]
    assert len(live) == 1, live
    return str(live[0])


async def _healthy(site: SlurmSite, instance_id: str) -> None:
    found = await until(
        lambda: site.instance(instance_id), lambda one: one.health is Health.HEALTHY
    )
    assert found.status is InstanceStatus.RUNNING


async def _starts(site: SlurmSite, machine: str, unit: str) -> int:
    ran = await site.ground.lab.machine(machine).run(STARTS.format(unit=unit))
    return int(ran.stdout)


async def _tree_is_whole(site: SlurmSite, name: str) -> None:
    """Accounting knows the cluster, its account and the one person of the project, each once."""
    head = site.ground.lab.machine("n1")
    tree = (await head.run("sacctmgr -n -P show assoc format=cluster,account,user")).stdout
    person = (await head.run("cut -d: -f1 /var/lib/gpuaas-slurm/people.ours")).stdout.strip()
    wanted = [f"{name}|{name}|", f"{name}|{name}|{person}", f"{name}|root|", f"{name}|root|root"]
    wanted.append(f"{name}|root|slurm")  # of the app's test jobs
    assert sorted(tree.split()) == sorted(wanted)


async def _main_pids(site: SlurmSite, machine: str) -> dict[str, str]:
    units = ("munge", "mariadb", "slurmdbd", "slurmctld", "slurmd")
    show = " ".join(f'"$(systemctl show -P MainPID {unit})"' for unit in units)
    ran = await site.ground.lab.machine(machine).run(f"echo {show}")
    return dict(zip(units, ran.stdout.split(), strict=True))
