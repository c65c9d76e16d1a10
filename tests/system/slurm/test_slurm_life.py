"""The whole life of one cluster through the public API, on real machines with real daemons.

The tests share a cluster and go through its life in the order they stand here: deploy, jobs, three
workers at once, drain, replace, remove, come back, stop, start, restart, upgrade, rollback,
decommission, and nothing is left. n1 controls, n2 works from the start, n3 (with fake GPUs), n4 and
n5 join together, and n6 takes a place. On newer releases the same life is `test_slurm_newer.py`'s.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import pytest
from rebuilt_bundle import SUFFIX
from slurm_life import NEXT, Life, life_up

from gpuaas_contract.apps import AppInstance, InstanceUpdate, Operation
from gpuaas_contract.custody import RuntimeSecret
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus, OperationStatus
from gpuaas_sdk import ProblemError, Request
from tools.ground import Ground
from tools.slurm_crew import PERSON, as_person, operations, placed, succeeded, told, until
from tools.slurm_site import ENDED
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.in_order,
]

SUITE: Final = suites()[0]
GPUS: Final = 2
REMEMBERED_S: Final = 5
MACHINES: Final = ("n1", "n2", "n3", "n4", "n5", "n6")


@pytest.fixture(scope="module")
async def life(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Life]:
    ground = await ground_factory("slurm-life", len(MACHINES), SUITE)
    await ground.lab.machine("n3").fake_gpus(GPUS)
    async with life_up(ground, SUITE) as found:
        yield found


async def test_a_preflight_names_every_problem_with_its_remedy_and_changes_nothing(
    life: Life,
) -> None:
    foreign = "mkdir -p /etc/slurm && echo ClusterName=old >/etc/slurm/slurm.conf"
    await life.machine("n2").run(foreign)
    settings = {"finished_job_seconds": REMEMBERED_S}
    asked = await life.site.deploy("c1", placed(life.ground, "n1", ["n2", "n4"], **settings))
    (ended,) = await life.site.ended(asked)
    assert ended.error is not None
    assert ended.error.code == "preflight_failed"
    assert "a Slurm of somebody else is there: /etc/slurm/slurm.conf → remove" in (
        ended.error.message
    )
    for name in ("n1", "n2"):
        assert (await life.machine(name).run("command -v munged slurmd", check=False)).status
    await life.machine("n2").run("rm -r /etc/slurm")
    life.instance_id = asked.instance.id


async def test_a_deploy_is_tried_again_and_one_bad_worker_holds_up_no_other(life: Life) -> None:
    await life.machine("n4").run("chmod 000 /usr/bin/dpkg-deb")
    (failed,) = await operations(life.site, life.instance_id)
    again = await life.site.admin.post(f"/operations/{failed.id}/retry", None, Operation)
    ended = await until(
        lambda: life.site.operation(again.id), lambda one: one.status in ENDED, patience=240
    )
    assert ended.status is OperationStatus.SUCCEEDED, told(ended)
    install = next(step for step in ended.progress if step.name == "install")
    assert f"left out {life.ground.allocation('n4')}" in install.message
    instance = await life.site.instance(life.instance_id)
    assert (instance.status, instance.health) == (InstanceStatus.DEGRADED, Health.DEGRADED)
    bad, good = await life.member("n4"), await life.member("n2")
    assert (bad.status, [one.type for one in bad.conditions]) == (
        MemberStatus.DEGRADED, ["bootstrap_unfinished"],
    )  # fmt: skip
    assert (good.status, good.health) == (MemberStatus.READY, Health.HEALTHY)
    assert (await life.person("srun hostname")).strip() == "n2"


async def test_a_bootstrap_that_failed_is_removed_and_leaves_a_clean_machine_and_a_tombstone(
    life: Life,
) -> None:
    await life.machine("n4").run("chmod 755 /usr/bin/dpkg-deb")
    await life.ask("remove_worker", "n4")
    await life.nothing_left("n4")
    assert await life.tombstones() == 1
    await life.healthy()


async def test_versions_are_read_where_they_are_true(life: Life) -> None:
    instance = await life.site.instance(life.instance_id)
    detail = instance.adapter_detail
    assert detail is not None
    package = (await life.run("dpkg-query -W -f '${Version}' slurmctld")).strip()
    assert detail.detail["versions"] == {
        "app": instance.app_version, "package": package, "daemon": instance.runtime_version,
    }  # fmt: skip
    assert instance.runtime_version in await life.run("slurmctld -V")
    assert [row["name"] for row in detail.detail["nodes"]] == ["n2"]
    assert detail.detail["generation"] == 1


async def test_every_command_of_the_access_bundle_works(life: Life) -> None:
    access = (await life.site.instance(life.instance_id)).access
    assert access is not None
    for entry in [*access["commands"], *access["health"]]:
        ran = await life.machine("n1").run(as_person(entry["command"]), check=False)
        assert ran.status == 0, (entry, ran)
    first = access["first_job"]
    await life.machine("n1").write(f"/srv/{first['file']}", first["script"])
    said = await life.person(f"cp /srv/{first['file']} . && {first['submit']}")
    number = said.split()[-1]
    seen = await life.run(
        f"for i in $(seq 600); do sacct -X -n -P -j {number} -o state | grep -x COMPLETED && exit;"
        " sleep .1; done; exit 1"
    )
    assert seen.strip() == "COMPLETED"


async def test_arrays_and_mpi_run_and_are_recorded(life: Life) -> None:
    said = await life.person("sbatch --parsable --array=1-3 --wrap=true")
    recorded = await life.run(
        f"for i in $(seq 600); do [ $(sacct -X -n -P -j {said.strip()} -s CD -S now-1hour -o jobid"
        f" -E now | wc -l) = 3 ] && exit 0; sleep .1; done; sacct -X -j {said.strip()}; exit 1"
    )
    assert recorded == ""
    ranks = await life.person("srun -n 2 --overcommit printenv PMIX_RANK")
    assert sorted(ranks.split()) == ["0", "1"]


async def test_three_workers_added_together_are_ready_and_carry_their_gpus(life: Life) -> None:
    await life.add("n3", "n4", "n5")
    await life.healthy()
    for name in ("n3", "n4", "n5"):
        member = await life.member(name)
        assert (member.status, member.health, member.node) == (
            MemberStatus.READY, Health.HEALTHY, name,
        )  # fmt: skip
    assert sorted((await life.person("srun -N 4 hostname")).split()) == ["n2", "n3", "n4", "n5"]
    seen = await life.person("srun -w n3 --gres=gpu:1 printenv CUDA_VISIBLE_DEVICES")
    assert seen.strip() == "0"
    assert (await life.site.instance(life.instance_id)).topology == "multi_node"


async def test_a_drain_lets_the_running_job_end_and_shows_it_meanwhile(life: Life) -> None:
    await life.quiet()
    await life.job("-w n4 --wrap 'until [ -e /run/job-may-end ]; do sleep .2; done'")
    person = (await life.run(PERSON)).strip()
    known = await life.member("n4")
    asked = await life.site.ask(life.instance_id, "drain_worker", member_ids=[known.id])
    await until(
        lambda: life.site.operation(asked.operations[0].id),
        lambda one: any(f"of {person} (running)" in step.message for step in one.progress),
    )
    await life.machine("n4").run("touch /run/job-may-end")
    (ended,) = await life.site.ended(asked)
    assert ended.status is OperationStatus.SUCCEEDED, told(ended)
    assert f"gpuaas:{ended.id}" in await life.run("scontrol show node n4")
    member = await life.member("n4")
    assert (member.status, member.health) == (MemberStatus.DRAINED, Health.DRAINED)
    assert "CANCELLED" not in await life.run("sacct -X -n -P -o state")
    await life.ask("resume_worker", "n4")
    assert (await life.member("n4")).status is MemberStatus.READY


async def test_a_drain_of_somebody_else_is_told_and_left_alone(life: Life) -> None:
    await life.run("scontrol update NodeName=n4 State=DRAIN Reason='bad fan'")
    member = await until(lambda: life.member("n4"), lambda one: one.health is Health.DRAINED)
    assert [one.type for one in member.conditions] == ["drained_elsewhere"]
    assert "bad fan" in member.conditions[0].message
    await succeeded(life.site, await life.site.ask(life.instance_id, "reconcile"))
    assert "bad fan" in await life.run("sinfo -R -h")
    await life.run("scontrol update NodeName=n4 State=RESUME")


async def test_a_replacement_is_ready_before_the_old_one_leaves_nothing_behind(life: Life) -> None:
    await life.ask("replace_worker", "n2", allocation_id=life.ground.allocation("n6"))
    await life.nothing_left("n2")
    await life.healthy()
    assert (await life.run("sinfo -h -N -o %N -p main | sort -u")).split() == [
        "n3",
        "n4",
        "n5",
        "n6",
    ]
    replaced = (await operations(life.site, life.instance_id))[0]
    began = {step.name: step.started_at for step in replaced.progress}
    ended = {step.name: step.ended_at for step in replaced.progress}
    assert str(ended["admit"]) <= str(began["drain"])
    assert await life.tombstones() == 2


async def test_what_was_removed_left_nothing_and_can_come_back(life: Life) -> None:
    await life.ask("remove_worker", "n4")
    await life.nothing_left("n4")
    assert await life.tombstones() == 3
    await life.add("n4")
    await life.healthy()
    assert "n4" in await life.person("srun -w n4 hostname")


async def test_a_stop_refuses_while_jobs_run_unless_told_what_to_do(life: Life) -> None:
    number = await life.job("--wrap 'sleep 600'")
    (refused,) = await life.site.ended(await life.site.ask(life.instance_id, "stop"))
    assert refused.error is not None
    assert refused.error.code == "jobs_run"
    await life.healthy()
    asked = await life.site.ask(life.instance_id, "stop", input={"jobs": "requeue"})
    await succeeded(life.site, asked)
    instance = await life.site.instance(life.instance_id)
    assert (instance.status, instance.health) == (InstanceStatus.STOPPED, Health.DRAINED)
    for name in MACHINES:
        units = await life.machine(name).run("systemctl is-active slurmctld slurmd", check=False)
        assert "\nactive" not in f"\n{units.stdout}"
    await succeeded(life.site, await life.site.ask(life.instance_id, "start"))
    await life.healthy()
    # The queue outlived the stop; the job begins anew.
    assert number in await life.run("squeue -h -o %i")
    await life.run(f"scancel {number}")


async def test_a_start_that_failed_can_be_asked_for_again(life: Life) -> None:
    await life.quiet()
    await succeeded(life.site, await life.site.ask(life.instance_id, "stop"))
    await life.run("systemctl mask --quiet mariadb")
    (failed,) = await life.site.ended(await life.site.ask(life.instance_id, "start"))
    assert failed.error is not None, told(failed)
    assert "masked" in failed.error.message
    assert (await life.site.instance(life.instance_id)).status is InstanceStatus.DEGRADED
    again = await life.site.admin.call(Request("POST", f"/operations/{failed.id}/retry"), Operation)
    assert again.attempt > failed.attempt
    await until(lambda: life.site.operation(failed.id), lambda one: one.status in ENDED)
    await life.run("systemctl unmask --quiet mariadb")
    await succeeded(life.site, await life.site.ask(life.instance_id, "start"))
    await life.healthy()


async def test_a_restart_keeps_running_jobs(life: Life) -> None:
    await life.quiet()
    number = await life.job("--wrap 'sleep 300'")
    pid = await life.run("systemctl show -P MainPID slurmctld")
    await succeeded(life.site, await life.site.ask(life.instance_id, "restart"))
    assert await life.run("systemctl show -P MainPID slurmctld") != pid
    assert await life.run(f"squeue -h -t R -j {number} -o %i") == f"{number}\n"
    await life.run(f"scancel {number}")


async def test_a_changed_file_and_a_dead_daemon_are_repaired_without_being_asked(
    life: Life,
) -> None:
    before = await life.machine("n1").read("/etc/slurm/slurm.conf")
    await life.run("echo '# by hand' >>/etc/slurm/slurm.conf")
    await life.machine("n3").run("systemctl stop slurmd")

    async def repaired() -> tuple[bool, str]:
        now = await life.machine("n1").read("/etc/slurm/slurm.conf")
        state = await life.machine("n3").run("systemctl is-active slurmd", check=False)
        return now == before, state.stdout.strip()

    await until(repaired, lambda found: found == (True, "active"))
    await until(lambda: life.member("n3"), lambda one: one.health is Health.HEALTHY)


async def test_new_settings_become_the_next_generation(life: Life) -> None:
    partitions = [{"name": "main"}, {"name": "short", "max_minutes": 10}]

    async def changed() -> bool:
        """False when the controller said something of the instance in between: read it again."""
        instance = await life.site.instance(life.instance_id)
        settings = json.loads(json.dumps(instance.settings))
        settings["settings"]["partitions"] = partitions
        path, wanted = f"/app-instances/{life.instance_id}", InstanceUpdate(settings=settings)
        request = Request("PATCH", path, wanted, if_match=f'"{instance.revision}"')
        try:
            await life.site.admin.call(request, AppInstance)
        except ProblemError as error:
            if error.code is ErrorCode.PRECONDITION_FAILED:
                return False
            raise
        return True

    await until(changed, bool)
    try:
        await succeeded(life.site, await life.site.ask(life.instance_id, "reconcile"))
    except ProblemError as error:  # the controller saw the new settings first
        if error.code is not ErrorCode.OPERATION_IN_PROGRESS:
            raise
    found = await until(
        lambda: life.site.instance(life.instance_id),
        lambda one: one.settings_applied_revision == one.settings_revision,
    )
    assert found.adapter_detail is not None
    assert found.adapter_detail.detail["generation"] == 2
    await until(lambda: life.run("sinfo -h -p short -o %l"), lambda said: "10:00" in said)


async def test_an_upgrade_changes_packages_and_no_job_notices(life: Life) -> None:
    await life.newer_publish()
    before = await life.versions()
    job = await life.job("--output=/dev/null --chdir=/ --wrap 'sleep 900'")
    await life.whole("upgrade", version=NEXT)
    after = await until(life.versions, lambda one: one["package"].endswith(SUFFIX))
    newer = before["package"] + SUFFIX
    # The packages were made anew from the same programs, which go on calling themselves the same.
    wanted = {"app": NEXT, "instance": NEXT, "package": newer, "daemon": before["daemon"]}
    assert after == wanted
    assert await life.installed() == {newer}
    assert await life.run(f"squeue -h -j {job} -o %T") == "RUNNING\n"
    await life.run(f"scancel {job}")
    await life.quiet()


async def test_a_rollback_brings_everything_back_as_it_was(life: Life) -> None:
    await life.run("sacctmgr -i add account later")
    await life.person("sbatch --output=/dev/null --chdir=/ --hold --job-name=later --wrap true")
    await life.whole("rollback")
    after = await until(life.versions, lambda one: not one["package"].endswith(SUFFIX))
    assert after["instance"] == after["app"] == "0.1.0"
    assert await life.installed() == {after["package"]}
    # What came after the snapshot is lost, as was said; what was there before is as it was.
    assert "later" not in await life.run("sacctmgr -nP show account format=account")
    assert "later" not in await life.run("squeue -h -o %j")
    assert "10:00" in await life.run("sinfo -h -p short -o %l")
    await life.run(f'scancel --user="$({PERSON})"')
    await life.quiet()
    assert sorted((await life.person("srun -N 4 hostname")).split()) == ["n3", "n4", "n5", "n6"]
    await life.healthy()


async def test_decommissioning_leaves_nothing_and_proves_it(life: Life) -> None:
    await succeeded(life.site, await life.site.ask(life.instance_id, "decommission"))
    instance = await life.site.instance(life.instance_id)
    assert instance.status is InstanceStatus.DELETED
    await life.nothing_left(*MACHINES)
    secrets = life.site.admin.pages("/runtime-secrets", RuntimeSecret)
    assert [one.status async for one in secrets] == ["revoked"]
