"""An ordinary user of a cluster who tries everything: to block, to fill, to replace, to read.

The tests share one cluster. n1 controls, n2 works from the start, and n3, where an earlier holder
of the machine left something, joins while the user holds and fills whatever they can.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import pytest
from slurm_refusal import REFUSED, refused

from gpuaas_contract.access import RoleBinding, RoleBindingCreate
from gpuaas_contract.apps import Operation
from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import User, UserCreate
from gpuaas_contract.states import Health, InstanceStatus
from gpuaas_lab import Machine
from gpuaas_sdk import ProblemError
from gpuaas_slurm.commands.slurm import LOCK
from gpuaas_slurm.onmachine.scripts import HOME
from gpuaas_slurm.render.slurm_conf import SPOOL, STATE
from tools.ground import Ground
from tools.slurm_crew import (
    PERSON,
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
from tools.slurm_site import ENDED, SlurmSite, slurm_up
from tools.suites import suites

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

SUITE: Final = suites()[0]
HOSTILE: Final = "mallory"
WRITABLE: Final = (
    "find / /run /tmp /var/tmp /dev/shm -xdev \\( -path /proc -o -path /sys \\) -prune -o"
    " -writable ! -type l -print 2>/dev/null | sort -u"
)
"""Every path a user of the machine may write to or connect to."""
GRIP: Final = f"""
import fcntl, glob, os, socket
kept = []
places = ("/etc/slurm", "/etc/munge", "{HOME}", "{STATE}", "{SPOOL}", "/run", "/var/log", "/tmp")
for place in places:
    for folder, _, names in os.walk(place):
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            try:
                held = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                kept.append(held)
            except OSError:
                pass
for path in ("{LOCK}", "/run/gpuaas-slurm.lock", "{HOME}/lock"):
    try:
        kept.append(os.open(path, os.O_RDWR | os.O_CREAT))
        fcntl.flock(kept[-1], fcntl.LOCK_EX)
        print("held", path, flush=True)
    except OSError:
        pass
for name in ("gpuaas-slurm.lock", "gpuaas-slurm", "answers"):
    for place in ("/tmp", "/run/lock", "/var/tmp", "/dev/shm"):
        os.symlink("/etc/shadow", os.path.join(place, name))
for _ in range(200):
    try:
        one = socket.socket(socket.AF_UNIX)
        one.connect("/run/mysqld/mysqld.sock")
        kept.append(one)
        print("held a connection of the database", flush=True)
    except OSError:
        break
for place in ("/tmp", "/dev/shm", "/run/lock"):
    filler = open(os.path.join(place, "filler"), "wb", 0)
    try:
        while True:
            filler.write(bytes(1 << 16))
    except OSError as error:
        print("full", place, error.errno, flush=True)
print("ready", flush=True)
while True:
    socket.socketpair()[0].recv(1)
"""
"""Holds every lock, connection and byte there is to hold, until it is ended."""


PROC_KEPT: Final = refused("n3", "/usr/bin/mount", "*hidepid*")
"""What some containers do: they do not let /proc be changed."""


@dataclass
class Siege:
    """The cluster, and somebody who means it no good."""

    site: SlurmSite
    instance_id: str
    before: dict[str, set[str]]
    """What users could write to on each machine before anything of the cluster was there."""

    def machine(self, name: str) -> Machine:
        return self.site.ground.lab.machine(name)

    async def run(self, name: str, command: str, *, check: bool = True) -> str:
        """Run something on a machine, as its operator."""
        return (await self.machine(name).run(command, check=check)).stdout.strip()

    async def hostile(self, command: str, name: str = "n1") -> str:
        """What the user gets to see, errors too."""
        line = f"runuser -l {HOSTILE} -c {shlex.quote(command)} 2>&1"
        return await self.run(name, line, check=False)

    async def person(self, command: str) -> str:
        """Run something on the controller's machine as the person who is attacked."""
        return await self.run("n1", as_person(command))

    async def healthy(self) -> None:
        """The platform says that all is well."""
        await until(
            lambda: self.site.instance(self.instance_id),
            lambda one: (one.status, one.health) == (InstanceStatus.RUNNING, Health.HEALTHY),
        )


async def _reconcile_ended(siege: Siege) -> list[Operation]:
    """Ask for a reconcile, or take the one the controller began by itself, and wait for its end."""
    while True:
        try:
            asked = await siege.site.ask(siege.instance_id, "reconcile")
        except ProblemError as error:
            if error.code is not ErrorCode.OPERATION_IN_PROGRESS:
                raise
            await until(lambda: operations(siege.site, siege.instance_id), _ended)
            continue
        return await siege.site.ended(asked)


def _ended(listed: list[Operation]) -> bool:
    return listed[0].status in ENDED


async def _writable(machine: Machine) -> set[str]:
    found = await machine.run(f"runuser -u nobody -- sh -c {shlex.quote(WRITABLE)}", check=False)
    return set(found.stdout.splitlines())


async def _join(ground: Ground) -> None:
    """A member of the project, as the platform makes one."""
    body = UserCreate(email=f"{HOSTILE}@people.example", password="correct horse battery")
    user = await ground.admin.post(f"/tenants/{ground.org_id}/users", body, User)
    scope = Scope(kind=ScopeKind.PROJECT, org_id=ground.org_id, project_id=ground.project_id)
    bind = RoleBindingCreate(principal_id=user.id, role="project_member", scope=scope)
    await ground.admin.post("/role-bindings", bind, RoleBinding)


@pytest.fixture(scope="module")
async def siege(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Siege]:
    ground = await ground_factory("hostile", 3, SUITE, await packages_wanted(SUITE))
    await packages_settle(SUITE, ground.lab.machines)
    await _join(ground)
    machines = ground.lab.machines
    before = await asyncio.gather(*(_writable(machine) for machine in machines))
    async with slurm_up(ground, options=("--observe-seconds", "2")) as site:
        asked = await site.deploy("c1", placed(ground, "n1", ["n2"], packages="installed"))
        await succeeded(site, asked)
        found = dict(zip((machine.name for machine in machines), before, strict=True))
        yield Siege(site, asked.operations[0].instance_id, found)


async def test_an_ordinary_user_gets_nothing_to_write_to_but_their_home(siege: Siege) -> None:
    for name in ("n1", "n2"):
        new = await _writable(siege.machine(name)) - siege.before[name]
        assert {path for path in new if not path.startswith("/run/munge/munge.socket")} == set()
    for name in ("n1", "n2"):
        assert await siege.run(name, f"stat -c '%a %U:%G' {HOME}") == "700 root:root"
    assert await siege.run("n1", f"stat -c '%a %U:%G' {STATE}") == "700 slurm:slurm"


async def test_an_ordinary_user_reads_no_state_no_secret_and_no_log(siege: Siege) -> None:
    await siege.run("n1", f"test -s {HOME}/record.json && test -s {HOME}/cluster.json")
    for path in (
        f"{HOME}/record.json",
        f"{HOME}/cluster.json",
        f"{HOME}/people.ours",
        "/etc/munge/munge.key",
        "/etc/slurm/slurmdbd.conf",
        f"{STATE}/job_state",
        f"{STATE}/clustername",
    ):
        assert "Permission denied" in await siege.hostile(f"cat {path}"), path
    said = await siege.hostile("mariadb --execute 'SHOW DATABASES'")
    assert "(13)" in said, said
    assert "slurmctld" not in await siege.hostile("journalctl --no-pager -u slurmctld | cat")


async def test_root_runs_no_jobs_and_nobody_uses_the_partition_of_test_jobs(siege: Siege) -> None:
    for partition in ("main", "gpuaas_admission"):
        said = await siege.run("n1", f"srun -p {partition} id -u 2>&1", check=False)
        assert "Invalid user id" in said, partition
    for asked in (
        "srun -p gpuaas_admission true",
        "scontrol update nodename=n2 state=drain reason=x",
        "scontrol reconfigure",
        "sacctmgr -i modify user mallory set adminlevel=admin",
    ):
        said = await siege.hostile(asked)
        assert "denied" in said or "Invalid user id" in said, (asked, said)


async def test_what_others_run_is_theirs_alone(siege: Siege) -> None:
    script = "/srv/private.sh"
    await siege.machine("n1").write(
        script, "#!/bin/sh\n#SBATCH --job-name=private-work\n# a secret\nsleep 900\n", 0o644
    )
    job = await siege.person(f"sbatch --parsable --comment=private {script}")
    await until(lambda: siege.run("n1", f"squeue -h -j {job} -o %T"), lambda one: one == "RUNNING")
    owner = await siege.run("n1", PERSON)
    await siege.run("n1", f"systemd-run -q --unit=theirs --uid={owner} sleep 12345")
    try:
        seen = [
            await siege.hostile("squeue --all"),
            await siege.hostile(f"scontrol show job {job}"),
            await siege.hostile(f"scontrol write batch_script {job} -"),
            await siege.hostile("sacct --allusers"),
            await siege.hostile(f"sacct -j {job} --format=jobname,comment"),
            await siege.hostile("sacctmgr -n -P show assoc format=account,user"),
            await siege.hostile("sacctmgr -n -P show user format=user"),
            await siege.hostile("sreport -n cluster AccountUtilizationByUser"),
            await siege.hostile(f"sstat -j {job}"),
            await siege.hostile("ps -eo user,args"),
            await siege.hostile("srun -w n2 ps -eo user,args"),
            await siege.hostile(f"cat {SPOOL}/job*/slurm_script", "n2"),
        ]
        for said in seen:
            assert "private" not in said, said
            assert "secret" not in said, said
            assert "12345" not in said, said
            assert owner not in said, said
        # Their own is there, and root, as the app, sees everything.
        assert HOSTILE in await siege.hostile("sacctmgr -n -P show assoc format=account,user")
        own = await siege.hostile("sbatch --parsable -w n2 --wrap 'sleep 900'")
        assert own in await siege.hostile("squeue -h -o %i")
        assert {job, own} <= set((await siege.run("n1", "squeue -h -o %i")).split())
        assert "sleep 12345" in await siege.run("n1", "ps -eo args")
        await siege.hostile(f"scancel {job}")
        assert job in (await siege.run("n1", "squeue -h -t R -o %i")).split()
        await siege.run("n1", f"scancel {own}")
    finally:
        await siege.run("n1", f"systemctl stop theirs; scancel {job}")
    for member in (await members(siege.site, siege.instance_id)).values():
        assert member.adapter_detail is not None
        assert member.adapter_detail.detail["processes_of_others"] == "hidden"


async def test_processes_stay_hidden_when_a_machine_boots_and_when_somebody_undoes_it(
    siege: Siege,
) -> None:
    wanted = "/etc/systemd/system/multi-user.target.wants/gpuaas-slurm-processes.service"
    assert await siege.run("n2", f"readlink -e {wanted}") != ""
    await siege.run("n2", "mount -o remount,hidepid=0 /proc")
    await siege.run("n2", "systemctl start gpuaas-slurm-processes")
    hidden = "grep -c '^proc /proc proc .*hidepid=' /proc/mounts || true"
    assert await siege.run("n2", hidden) == "1"
    await siege.run("n2", "mount -o remount,hidepid=0 /proc")
    await until(lambda: siege.run("n2", hidden), lambda one: one == "1")
    await siege.healthy()


async def test_a_folder_that_others_can_open_is_closed_again(siege: Siege) -> None:
    await siege.run("n2", f"chmod 0755 {HOME}")
    await until(lambda: siege.run("n2", f"stat -c %a {HOME}"), lambda one: one == "700")
    await siege.healthy()


async def test_a_worker_joins_while_a_user_holds_and_fills_everything(siege: Siege) -> None:
    uid = await siege.run("n1", f"id -u {HOSTILE}")
    await PROC_KEPT.place(siege.site)
    # An earlier holder of n3 left the app's folder in the hands of who is now a user.
    await siege.run(
        "n3",
        f"mkdir -m 0777 {HOME} && ln -s /etc/hostname {HOME}/lock && chown -R {uid} {HOME}"
        f" && echo '{{}}' >{HOME}/record.json",
    )
    for name in ("n1", "n2"):
        await siege.run(name, "for one in /tmp /dev/shm; do mount -o remount,size=2m $one; done")
        await siege.machine(name).write("/srv/grip.py", GRIP, 0o644)
        await siege.run(
            name,
            f"systemd-run -q --unit=grip --uid={HOSTILE} -p StandardOutput=file:/srv/grip.log"
            " python3 /srv/grip.py",
        )
    try:
        for name in ("n1", "n2"):
            said = await until(
                lambda name=name: siege.run(name, "cat /srv/grip.log"),  # type: ignore[misc]
                lambda text: "ready" in text,
            )
            assert "held" not in said
            assert said.count("full") == 3
        wanted = {"allocation_ids": [siege.site.ground.allocation("n3")]}
        asked = await siege.site.ask(siege.instance_id, "add_worker", input=wanted)
        [added] = (await succeeded(siege.site, asked)).operations
        told = {one.name: one.message for one in (await siege.site.operation(added.id)).progress}
        assert told["configure"].endswith(f"stay visible on n3: {REFUSED}"), told
        await reconciled(siege.site, siege.instance_id)
        await siege.healthy()
        assert await siege.person("srun -w n3 hostname") == "n3"
    finally:
        for name in ("n1", "n2"):
            await siege.run(name, "systemctl stop grip; rm -f /tmp/filler /dev/shm/filler")
            await siege.run(name, "rm -f /run/lock/filler")
    joined = (await members(siege.site, siege.instance_id))["n3"]
    assert joined.adapter_detail is not None
    assert joined.adapter_detail.detail["processes_of_others"] == f"refused {REFUSED}"
    assert await siege.run("n3", f"stat -c '%a %U:%G' {HOME}") == "700 root:root"
    assert await siege.run("n3", "cat /etc/hostname") == "n3"
    assert await siege.run("n3", f"test -L {HOME}/lock && echo link", check=False) == ""


async def test_a_full_disk_is_told_loses_nothing_and_is_over_when_there_is_room(
    siege: Siege,
) -> None:
    """What a job of theirs can fill where home, spool and the app's folder are on one disk."""
    kept = await siege.run("n2", f"cat {HOME}/record.json")
    await siege.run(
        "n2",
        f"cp -a {HOME} /srv/aside && mount -t tmpfs -o size=256k,mode=0700 none {HOME}"
        f" && cp -a /srv/aside/. {HOME} && cat /dev/zero >{HOME}/filler",
        check=False,
    )
    try:
        await siege.run("n2", "echo '# by hand' >>/etc/slurm/gres.conf")
        [failed] = await _reconcile_ended(siege)
        assert failed.error is not None
        assert "No space left on device" in failed.error.message
        assert json.loads(await siege.run("n2", f"cat {HOME}/record.json")) == json.loads(kept)
        await siege.run("n2", f"rm {HOME}/filler")
        await reconciled(siege.site, siege.instance_id)
        await siege.healthy()
        assert "# by hand" not in await siege.run("n2", "cat /etc/slurm/gres.conf")
    finally:
        await siege.run("n2", f"umount {HOME}")


async def test_nothing_is_left_and_processes_are_as_they_were(siege: Siege) -> None:
    await succeeded(siege.site, await siege.site.ask(siege.instance_id, "decommission"))
    await PROC_KEPT.remove(siege.site)
    for name in ("n1", "n2", "n3"):
        assert await siege.run(name, "grep -c hidepid /proc/mounts || true") == "0"
        assert await siege.run(name, f"ls -d {HOME} 2>&1", check=False) != HOME
        new = await _writable(siege.machine(name)) - siege.before[name]
        # The user's own places, and services whose packages were there before and stay.
        theirs = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/munge/", "/run/mysqld/")  # noqa: S108
        assert {path for path in new if not path.startswith(theirs)} == set()
