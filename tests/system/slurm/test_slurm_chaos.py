"""What the platform says while machines, networks and daemons break under running jobs.

One cluster: n1 controls, n2 to n4 work, a long job runs on each. A test breaks several things that
do not touch each other, waits until the platform says so, heals them, and waits until the cluster
is healthy again. At all times: a machine that cannot be asked keeps the state it had, nobody
else's drain is undone, and no job ends by our hand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import pytest

from gpuaas_contract.apps import AppInstance, Member, Operation
from gpuaas_contract.common import Condition
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus, OperationStatus
from gpuaas_lab import Machine, inside
from tools.ground import Ground
from tools.slurm_crew import (
    as_person,
    members,
    operations,
    packages_settle,
    packages_wanted,
    placed,
    reconciled,
    succeeded,
    until,
)
from tools.slurm_site import SlurmSite, slurm_up
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.rotates("trouble around a cluster"),
]

SUITE: Final = suites()[0]
WORKERS: Final = ("n2", "n3", "n4")
JOB: Final = (
    "sbatch --parsable --chdir=/ --output=/dev/null --nodelist={name} --no-requeue"
    " --wrap='exec sleep 3600'"
)


@dataclass
class Chaos:
    """The cluster, and the jobs that run on it by the worker they run on."""

    site: SlurmSite
    instance_id: str
    jobs: dict[str, str] = field(default_factory=dict)

    def machine(self, name: str) -> Machine:
        return self.site.ground.lab.machine(name)

    async def instance(self) -> AppInstance:
        return await self.site.instance(self.instance_id)

    async def member(self, name: str) -> Member:
        return (await members(self.site, self.instance_id))[name]

    async def run(self, command: str, *, check: bool = True) -> str:
        """Run something on the controller's machine."""
        return (await self.machine("n1").run(command, check=check)).stdout.strip()

    async def job_start(self, *names: str) -> None:
        """A job that only ends when somebody ends it, on each of some workers."""
        for name in names:
            self.jobs[name] = await self.run(as_person(JOB.format(name=name)))
        for name in names:
            await until(lambda name=name: self.job_state(name), _is("RUNNING"))  # type: ignore[misc]

    async def job_state(self, name: str) -> str:
        return await self.run(f"squeue -h -j {self.jobs[name]} -o %T", check=False)

    async def jobs_live(self, *names: str) -> None:
        """The jobs run: for the scheduler, and as processes that were never started anew."""
        for name in names:
            assert await self.job_state(name) == "RUNNING", name
            ran = await self.machine(name).run("pgrep -c -x -f 'sleep 3600'")
            assert ran.stdout.strip() == "1", name
            restarts = await self.run(f"scontrol show job {self.jobs[name]} | grep -o Restarts=.")
            assert restarts == "Restarts=0"

    async def says(self, name: str, condition: str) -> Member:
        """A member, once the platform shows this condition of it."""
        return await until(lambda: self.member(name), lambda one: condition in _conditions(one))

    async def healthy(self) -> AppInstance:
        """The instance, once all is well; then no member has anything to complain of."""
        found = await until(
            self.instance,
            lambda one: (one.status, one.health) == (InstanceStatus.RUNNING, Health.HEALTHY),
        )
        for name in ("n1", *WORKERS):
            member = await until(
                lambda name=name: self.member(name),  # type: ignore[misc]
                lambda one: one.status is MemberStatus.READY and not _conditions(one),
            )
            assert member.health is Health.HEALTHY, member
        return found

    async def node(self, name: str) -> str:
        return await self.run(f"sinfo -h -n {name} -p main -o '%T %E'", check=False)

    async def reconciles(self) -> list[Operation]:
        found = await operations(self.site, self.instance_id)
        return [one for one in found if one.kind == "reconcile"]


@pytest.fixture(scope="module")
async def chaos(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Chaos]:
    """A cluster whose controller looks every two seconds, with a job on every worker."""
    ground = await ground_factory("slurm-chaos", 4, SUITE, await packages_wanted(SUITE))
    await packages_settle(SUITE, ground.lab.machines)
    options = ("--observe-seconds", "2", "--lease-seconds", "5")
    async with slurm_up(ground, options=options) as site:
        wanted = placed(ground, "n1", WORKERS, packages="installed")
        asked = await succeeded(site, await site.deploy("chaos", wanted))
        made = Chaos(site, asked.instance.id)
        await made.job_start(*WORKERS)
        await made.healthy()
        yield made


async def test_a_cut_network_and_killed_daemons(chaos: Chaos) -> None:
    before = await chaos.member("n2")
    await chaos.site.ground.lab.cut("n2")
    await chaos.machine("n3").run("kill -9 $(systemctl show -P MainPID slurmd)")
    await chaos.machine("n4").run("kill -9 $(systemctl show -P MainPID munge)")

    cut = await chaos.says("n2", "unreachable")
    assert (cut.status, cut.health) == (before.status, Health.UNREACHABLE)
    assert (cut.node, cut.absence, cut.removed_at) == ("n2", None, None)
    # Nothing new was seen of it, so nothing new is said: what is shown is older than the cut.
    assert cut.adapter_detail is not None
    assert cut.adapter_detail.reported_at <= _condition(cut, "unreachable").since
    assert cut.adapter_detail.detail["slurmd"] == "active"
    instance = await until(chaos.instance, lambda one: one.status is InstanceStatus.DEGRADED)
    assert instance.health is Health.DEGRADED

    # What can be repaired is, while another machine cannot be asked.
    for name in ("n3", "n4"):
        await until(lambda name=name: chaos.member(name), _well)  # type: ignore[misc]
    assert "unreachable" in _conditions(await chaos.member("n2"))

    await chaos.site.ground.lab.heal("n2")
    await chaos.healthy()
    await chaos.jobs_live(*WORKERS)


async def test_a_lost_machine_a_one_way_cut_and_an_admin_s_drain(chaos: Chaos) -> None:
    await chaos.run("scontrol update NodeName=n4 State=DRAIN Reason='disk swap'")
    await chaos.site.ground.lab.cut("n3", "n1")
    before = await chaos.member("n2")
    await chaos.site.ground.lab.pull_plug("n2")

    drained = await chaos.says("n4", "drained_elsewhere")
    assert (drained.status, drained.health) == (MemberStatus.READY, Health.DRAINED)
    assert "disk swap" in _condition(drained, "drained_elsewhere").message
    dark = await chaos.says("n2", "unreachable")
    assert (dark.status, dark.node, dark.absence) == (before.status, "n2", None)
    # It cannot speak to the scheduler, but it can be asked, and it is well.
    mute = await chaos.member("n3")
    assert "unreachable" not in _conditions(mute)
    assert mute.adapter_detail is not None
    assert mute.adapter_detail.detail["slurmd"] == "active"

    await chaos.site.ground.lab.heal("n3", "n1")
    await chaos.machine("n2").boot()
    await reconciled(chaos.site, chaos.instance_id)
    await until(lambda: chaos.member("n2"), _well)
    await until(lambda: chaos.member("n3"), _well)
    assert await chaos.node("n4") == "draining disk swap"
    await chaos.jobs_live("n3", "n4")
    await until(lambda: chaos.job_state("n2"), lambda state: state != "RUNNING")

    await chaos.run("scontrol update NodeName=n4 State=RESUME")
    await until(lambda: chaos.node("n2"), lambda said: said.startswith("idle"))
    await chaos.job_start("n2")
    await chaos.healthy()


async def test_accounting_goes_and_comes(chaos: Chaos) -> None:
    pid = await chaos.run("systemctl show -P MainPID slurmctld")
    await chaos.run("systemctl stop slurmdbd")
    await chaos.says("n1", "daemon_down")
    await chaos.healthy()
    await chaos.run("systemctl stop mariadb")
    down = await chaos.says("n1", "daemon_down")
    assert "mariadb" in {one.reason for one in down.conditions}
    await chaos.healthy()
    assert await chaos.run("systemctl show -P MainPID slurmctld") == pid
    assert "chaos" in await chaos.run("sacctmgr -n -P show assoc format=account")
    await chaos.jobs_live(*WORKERS)


async def test_a_changed_file_a_full_disk_and_a_wrong_clock(chaos: Chaos) -> None:
    await chaos.machine("n2").run(FULL_DISK)
    await chaos.machine("n3").run("echo '# scribbled' >> /etc/slurm/slurm.conf")
    await _skew(chaos, "n4", 120)

    skewed = await chaos.says("n4", "clock_skewed")
    assert skewed.health is Health.DEGRADED
    failed = await until(chaos.reconciles, _failed)
    told = " ".join(one.error.message for one in failed if one.error is not None)
    assert "No space left on device" in told

    await chaos.machine("n2").run("rm /etc/slurm/filling")
    await _skew(chaos, "n4", 0)
    await reconciled(chaos.site, chaos.instance_id)
    for name in ("n2", "n3"):
        ran = await chaos.machine(name).run("grep -c scribbled /etc/slurm/slurm.conf", check=False)
        assert ran.stdout.strip() == "0", name
    await chaos.healthy()
    await chaos.jobs_live(*WORKERS)


# The folder becomes a small disk of its own, which a changed file and a filling leave no room on.
FULL_DISK: Final = """
set -e
cp -a /etc/slurm /run/slurm.copy
mount -t tmpfs -o size=64k,mode=755 tmpfs /etc/slurm
cp -a /run/slurm.copy/. /etc/slurm/
echo '# scribbled' >> /etc/slurm/slurm.conf
dd if=/dev/zero of=/etc/slurm/filling bs=4k 2>/dev/null || true
"""


async def test_another_machine_in_the_place_of_one(chaos: Chaos) -> None:
    before = await chaos.member("n3")
    machine = chaos.machine("n3")
    await machine.run(
        "cp -a /etc/ssh /root/ssh.kept && rm /etc/ssh/ssh_host_* && ssh-keygen -q -A"
        " && systemctl restart ssh && pkill -f 'sshd: root' || true",
        check=False,
    )
    await chaos.says("n3", "unreachable")
    other = await until(
        lambda: chaos.member("n3"), lambda one: "host key" in _condition(one, "unreachable").message
    )
    assert (other.status, other.node, other.absence) == (before.status, "n3", None)
    assert await chaos.job_state("n3") == "RUNNING"
    await _inside(chaos, "n3", "cp -a /root/ssh.kept/. /etc/ssh/ && systemctl restart ssh")
    await chaos.healthy()
    await chaos.jobs_live(*WORKERS)


async def test_what_was_done_meanwhile_was_bounded_and_is_told(chaos: Chaos) -> None:
    done = await chaos.reconciles()
    assert len(done) < 30
    assert {one.status for one in done} <= {OperationStatus.SUCCEEDED, OperationStatus.FAILED}
    instance = await chaos.instance()
    assert instance.adapter_detail is not None
    detail = instance.adapter_detail.detail
    assert detail["jobs_by_state"]["running"] == len(WORKERS)
    assert {row["name"] for row in detail["nodes"]} == set(WORKERS)
    assert detail["generation"] == 1


async def _inside(chaos: Chaos, name: str, script: str) -> None:
    """Run something on a machine from the host's side, where SSH would not be let in."""
    await inside.script(chaos.site.ground.lab.name, name, script)


async def _skew(chaos: Chaos, name: str, seconds: int) -> None:
    """Shift a clock; whoever was logged in before would still see the old one."""
    await chaos.site.ground.lab.skew(name, seconds)
    await _inside(chaos, name, "pkill -f '^sshd: root' || true")


def _conditions(member: Member) -> set[str]:
    return {one.type for one in member.conditions}


def _condition(member: Member, kind: str) -> Condition:
    return next(one for one in member.conditions if one.type == kind)


def _well(member: Member) -> bool:
    return member.health is Health.HEALTHY and not _conditions(member)


def _failed(found: list[Operation]) -> bool:
    return any(one.status is OperationStatus.FAILED for one in found)


def _is(word: str) -> Callable[[str], bool]:
    return lambda said: said == word
