"""The demo's cluster: deployed through the public API, watched step by step, and given a job."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from gpuaas_contract.apps import AppInstance, Operation
from gpuaas_sdk import Machines
from tools.ground import Ground
from tools.slurm_crew import as_person
from tools.slurm_site import SlurmSite

NAME = "demo"
JOB = """\
srun --job-name=first --nodes={nodes} --ntasks-per-node=1 \\
    sh -c 'echo "$(hostname) runs task $SLURM_PROCID of job $SLURM_JOB_ID"' | sort
for i in $(seq 50); do
    sacct -X -n -P --name=first -o jobid,jobname,account,state,allocnodes,elapsed |
        grep COMPLETED && break
    sleep 0.2
done
"""


class DemoFailed(Exception):
    """The cluster did not come up; the message is what a person would read in the console."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs."""

    instance: AppInstance
    controller: str
    workers: int


async def cluster_deploy(site: SlurmSite) -> Cluster:
    """Deploy, and show each step as it ends."""
    began = time.monotonic()
    first, *others = site.ground.allocations
    asked = await site.deploy(
        NAME,
        {
            "controller_allocation_id": first,
            "worker_placement": "separate",
            "worker_allocation_ids": others,
        },
    )
    print("  deploy", flush=True)
    shown = _Progress()
    (operation,) = await site.ended(asked, shown)
    if operation.status != "succeeded":
        reason = operation.error.message if operation.error else operation.status
        raise DemoFailed(f"the deploy {operation.status}: {reason}\n{site.log[-2000:]}")
    instance = await site.instance(asked.instance.id)
    told = f"{instance.status}, {instance.health}: {len(others)} workers take jobs"
    print(f"  {'cluster':<10} {told:<44} {time.monotonic() - began:6.1f} s", flush=True)
    return Cluster(instance, first, len(others))


async def job_run(ground: Ground, cluster: Cluster) -> None:
    """Submit a job where a person would, and show what it printed."""
    began = time.monotonic()
    async with ground.operator() as client:
        machines = Machines(client)
        try:
            machine = await machines.open(cluster.controller)
            ran = await machine.run(as_person(JOB.format(nodes=cluster.workers)), timeout=120)
        finally:
            await machines.close()
    print(
        f"  {'job':<10} {'srun on every worker, then sacct':<44} {time.monotonic() - began:6.1f} s"
    )
    print(*(f"             {line}" for line in ran.stdout.splitlines()), sep="\n", flush=True)


class _Progress:
    """One line a step, when it ends; the one that runs is shown where a terminal can."""

    def __init__(self) -> None:
        self._shown: set[str] = set()
        self._live = sys.stdout.isatty()

    def __call__(self, operation: Operation) -> None:
        for step in operation.progress:
            if step.name in self._shown or step.state not in {"succeeded", "failed", "skipped"}:
                continue
            self._shown.add(step.name)
            seconds = 0.0
            if step.ended_at is not None and step.started_at is not None:
                seconds = (step.ended_at - step.started_at).total_seconds()
            text = f"{step.name:<10} {step.message or step.state}"
            self._clear()
            print(f"    {text:<53} {seconds:6.1f} s", flush=True)
        running = next((step for step in operation.progress if step.state == "running"), None)
        if self._live and running is not None:
            self._clear()
            print(f"    {running.name:<10} …", end="", flush=True)

    def _clear(self) -> None:
        if self._live:
            print("\r\033[K", end="")
