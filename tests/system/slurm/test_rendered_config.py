"""Real daemons of both releases load what is rendered, without a complaint, and run jobs with it.

The tests of one suite share a cluster and go through its life in the order they stand here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpuaas_slurm.commands import Node, SlurmCommandError
from gpuaas_slurm.describe import cluster_from_json
from gpuaas_slurm.model import ADMISSION, Cluster
from gpuaas_slurm.render import machine_files
from tools.slurm_crew import until
from tools.suite.rotation import on_turn
from tools.suites import suites

if TYPE_CHECKING:
    from tests.system.slurm.conftest import Deployed

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.in_order,
]

SUITES = {"bookworm": "22.05", "noble": "23.11", "trixie": "24.11"}
DESCRIBED = Path(__file__).parents[3] / "apps/slurm/tests/unit/clusters"

FIRST_START = ("state file", "NOTE: Trying backup", "may be lost", "No last decay", "to recover")
"""What a controller says when it has never run before and finds nothing to recall."""

CLIENT_LEFT = "experienced error[104]: Connection reset by peer"
"""What slurmdbd says when a sacctmgr ends before it has read the answer to its goodbye.

Which of the two is faster is chance, and sacctmgr is what a start waits with until it answers.
"""

BUSY_HOST = ("Note very large processing time", "High latency for 1000 calls to gettimeofday")
"""What a daemon says of seconds in which its host had no time for it, and not of its files."""


@pytest.fixture(params=on_turn("distribution", suites()))
async def cluster(
    request: pytest.FixtureRequest, deployed: Callable[[str], Awaitable[Deployed]]
) -> Deployed:
    return await deployed(request.param)


async def node_when(cluster: Deployed, name: str, wanted: Callable[[Node], bool]) -> Node:
    """Return a node as soon as it is as wanted; what it is instead is in the failure."""
    found = await until(
        lambda: cluster.slurm.node(name), lambda node: node is not None and wanted(node)
    )
    assert found is not None
    return found


async def accounts_add(cluster: Deployed, described: Cluster) -> None:
    """Give accounting what a described cluster's partitions name."""
    await cluster.slurm.cluster_add(described.name)
    for partition in described.partitions:
        for account in partition.accounts:
            await cluster.slurm.account_add(described.name, account)
        for qos in partition.qos:
            await cluster.controller.run(f"sacctmgr -i add qos {qos}", check=False)


async def test_a_first_start_complains_of_nothing_but_that_it_is_the_first(
    cluster: Deployed,
) -> None:
    for service in ("munge", "mariadb", "slurmdbd", "slurmctld", "slurmd"):
        await cluster.controller.run(f"systemctl is-active {service}")
    said = await cluster.complaints(cluster.controller, "slurmctld")
    first = (*FIRST_START, *BUSY_HOST)
    assert [line for line in said if not any(mark in line for mark in first)] == []
    for machine in cluster.lab.machines:
        assert _of_files(await cluster.complaints(machine, "slurmd")) == []


async def test_the_daemons_say_which_release_they_are(cluster: Deployed) -> None:
    assert cluster.slurm.version == cluster.model.build.version
    (ping,) = await cluster.slurm.ping()
    assert ping.responding
    node = await node_when(cluster, "n2", lambda node: node.schedulable)
    assert node.version == str(cluster.model.build.version)


async def test_a_new_node_is_what_its_facts_say_and_open_to_no_user(cluster: Deployed) -> None:
    for name in ("n1", "n2"):
        node = await node_when(cluster, name, lambda node: node.schedulable)
        known = cluster.model.worker(name)
        assert known is not None
        assert node.features == (ADMISSION,)
        assert node.partitions == (ADMISSION,)
        assert (node.cpus, node.memory_mib) == (known.cpus, known.memory_mib)
        assert (node.address, node.hostname) == (known.address, known.host)
    partitions = {partition.name: partition for partition in await cluster.slurm.partitions()}
    assert partitions["main"].nodes == ()


async def test_a_node_is_tried_before_it_is_open_and_not_by_people(cluster: Deployed) -> None:
    # Accounting did not know the user of test jobs before.
    assert await cluster.slurm.trial(["n2"], 60) == ("n2",)
    assert await cluster.slurm.trial(["n1", "n2"], 60) == ("n1", "n2")
    refused = await cluster.job(f"srun -p {ADMISSION} -w n2 hostname", check=False)
    assert "not allowed" in refused.stderr or "denied" in refused.stderr, refused


async def test_jobs_of_root_are_refused(cluster: Deployed) -> None:
    for partition in ("main", ADMISSION):
        refused = await cluster.controller.run(f"srun -p {partition} id -u", check=False)
        assert (refused.status, refused.stdout) == (1, ""), partition
        assert "Invalid user id" in refused.stderr, refused


async def test_a_node_is_opened_without_a_restart(cluster: Deployed) -> None:
    started = (await cluster.controller.run("systemctl show -P MainPID slurmctld")).stdout
    for name in ("n1", "n2"):
        await cluster.slurm.node_features_set(name, ["main"])
    await cluster.slurm.partition_nodes_set("main", ["n1", "n2"])
    assert (await cluster.slurm.node("n2")).partitions == ("main", ADMISSION)  # type: ignore[union-attr]  # a None fails the test as well
    ran = await cluster.job("srun -N 2 hostname")
    assert sorted(ran.stdout.split()) == ["n1", "n2"]
    assert (await cluster.controller.run("systemctl show -P MainPID slurmctld")).stdout == started


async def test_what_was_opened_stays_open_when_files_are_read_again(cluster: Deployed) -> None:
    await cluster.slurm.reconfigure()
    await cluster.answering()
    await node_when(cluster, "n2", lambda node: node.partitions == ("main", ADMISSION))


async def test_mpi_programs_are_started_through_pmix(cluster: Deployed) -> None:
    assert cluster.model.build.pmix
    ran = await cluster.job("srun -N 2 printenv PMIX_RANK")
    assert sorted(ran.stdout.split()) == ["0", "1"]


async def test_gpus_are_handed_out(cluster: Deployed) -> None:
    node = await cluster.slurm.node("n2")
    assert node is not None
    assert node.gres.startswith("gpu:")
    assert node.gres.endswith(":2")
    ran = await cluster.job("srun -w n2 --gres=gpu:1 printenv CUDA_VISIBLE_DEVICES")
    assert ran.stdout.strip() == "0"
    refused = await cluster.job("srun -w n2 --gres=gpu:3 true", check=False)
    assert refused.status != 0


async def test_accounts_are_enforced_and_jobs_recorded(cluster: Deployed) -> None:
    controller = cluster.controller
    for machine in cluster.lab.machines:
        await machine.run("id bob 2>/dev/null || useradd --create-home --uid 2002 bob")
    refused = await controller.run("su bob -c 'cd; srun true'", check=False)
    assert "Invalid account" in refused.stderr
    await cluster.slurm.account_add("lab", "proj")
    await cluster.slurm.user_add("lab", "proj", "bob")
    await cluster.slurm.user_add("lab", "proj", "bob")
    await controller.run("su bob -c 'cd; srun --comment=job_1 -N 2 true'")
    jobs = [job for job in await cluster.slurm.jobs() if job.user == "bob"]
    assert [(job.account, job.comment) for job in jobs] == [("proj", "job_1")]
    # How many nodes it had is accounting's to say, once it ended: the controller counts a
    # completing job's nodes down while they are handed back.
    seen = await controller.run(
        "for i in $(seq 600); do sacct -X -n -P -u bob -o state,account,allocnodes"
        " | grep ^COMPLETED && exit; sleep .1; done; exit 1"
    )
    assert seen.stdout.strip() == "COMPLETED|proj|2"


async def test_a_drain_carries_its_reason_and_lets_the_job_end(cluster: Deployed) -> None:
    controller = cluster.controller
    await cluster.job("srun -w n2 sleep 300 >/dev/null 2>&1 </dev/null & sleep 1")
    await node_when(cluster, "n2", lambda node: node.busy)
    await cluster.slurm.node_drain("n2", "gpuaas:op_7 remove worker")
    node = await node_when(cluster, "n2", lambda node: node.draining)
    assert node.reason == "gpuaas:op_7 remove worker"
    assert node.busy
    with pytest.raises(SlurmCommandError, match="busy"):
        await cluster.slurm.node_delete("n2")
    await controller.run("scancel --name=sleep")
    await node_when(cluster, "n2", lambda node: not node.busy)
    await cluster.slurm.node_resume("n2")
    await node_when(cluster, "n2", lambda node: node.schedulable)


async def test_a_second_start_complains_of_nothing(cluster: Deployed) -> None:
    await cluster.controller.run("systemctl stop slurmctld slurmdbd")
    await cluster.controller.run("systemctl restart slurmdbd slurmctld")
    await cluster.answering()
    for machine in cluster.lab.machines:
        await machine.run("systemctl restart slurmd")
    await node_when(cluster, "n2", lambda node: node.schedulable)
    said = await cluster.complaints(cluster.controller, "slurmdbd")
    assert [line for line in _of_files(said) if CLIENT_LEFT not in line] == []
    assert _of_files(await cluster.complaints(cluster.controller, "slurmctld")) == []
    for machine in cluster.lab.machines:
        assert _of_files(await cluster.complaints(machine, "slurmd")) == []


def _of_files(complaints: list[str]) -> list[str]:
    """What is not the host's fault."""
    return [line for line in complaints if not any(mark in line for mark in BUSY_HOST)]


async def test_nodes_and_what_they_are_open_to_outlive_the_controller(cluster: Deployed) -> None:
    assert (await cluster.slurm.node("n1")).partitions == ("main", ADMISSION)  # type: ignore[union-attr]  # a None fails the test as well
    ran = await cluster.job("srun -N 2 hostname")
    assert sorted(ran.stdout.split()) == ["n1", "n2"]


async def test_a_start_that_fails_says_so_and_does_not_wait_for_ever(cluster: Deployed) -> None:
    controller = cluster.controller
    conf = await controller.read("/etc/slurm/slurm.conf")
    await controller.run("systemctl stop slurmctld")
    await controller.write("/etc/slurm/slurm.conf", f"{conf}NoSuchSetting=1\n")
    started = await controller.run("timeout 60 systemctl start slurmctld", check=False)
    assert started.status not in {0, 124}
    await controller.write("/etc/slurm/slurm.conf", conf)
    await controller.run("systemctl start slurmctld")
    # The start ended, so it answers: no waiting here.
    (ping,) = await cluster.slurm.ping()
    assert ping.responding


async def test_a_node_can_go_and_come_back(cluster: Deployed) -> None:
    await cluster.worker.run("systemctl stop slurmd")
    await cluster.slurm.node_delete("n2")
    assert await cluster.slurm.node("n2") is None
    await cluster.worker.run("systemctl start slurmd")
    node = await node_when(cluster, "n2", lambda node: node.schedulable)
    # Its file still says it is new, so it comes back as one: closed to users.
    assert node.partitions == (ADMISSION,)


@pytest.mark.parametrize(
    "described",
    sorted(
        path.stem
        for path in DESCRIBED.glob("*.json")
        if path.stem.endswith(tuple(SUITES[suite] for suite in suites()))
    ),
)
async def test_the_controller_loads_every_described_cluster(
    described: str, deployed: Callable[[str], Awaitable[Deployed]]
) -> None:
    suite = next(suite for suite, release in SUITES.items() if described.endswith(release))
    cluster = await deployed(suite)
    controller = cluster.controller
    wanted = cluster_from_json((DESCRIBED / f"{described}.json").read_bytes())
    here = replace(
        wanted,
        controller=replace(wanted.controller, address=str(controller.address)),
        # No node of these is here, and a topology must name the nodes that are.
        switches=(),
    )
    await accounts_add(cluster, here)
    folder = f"/srv/{described}"
    text = {file.path: file.text for file in machine_files(here, here.controller)}
    conf = text["/etc/slurm/slurm.conf"]
    conf = conf.replace("/var/lib/slurm/slurmctld", f"{folder}/state")
    await controller.write(f"{folder}/slurm.conf", f"{conf}SlurmctldPort=7817\n")
    await controller.run(f"install -d -o slurm -g slurm {folder}/state; chmod 755 {folder}")
    tried = await controller.run(
        f"export SLURM_CONF={folder}/slurm.conf; slurmctld -D -f $SLURM_CONF 2>&1 & pid=$!;"
        " for i in $(seq 600); do scontrol ping | grep -q UP && break; sleep .1; done;"
        " scontrol --all show partition -o; kill $pid; wait"
    )
    complaints = [
        line
        for line in tried.stdout.splitlines()
        if ("error" in line or "warning" in line or "fatal" in line)
        and not any(mark in line for mark in (*FIRST_START, *BUSY_HOST))
    ]
    assert complaints == []
    for partition in wanted.partitions:
        assert f"PartitionName={partition.name} " in tried.stdout
