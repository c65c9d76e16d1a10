"""Deploy: from POST to running and healthy through the API, beside the hand-written floor.

Both on fresh lab machines of one suite, in turns in the same run, packages in the host's cache: the
floor's machines fetch them with apt from the lab, ours fetch a published bundle from the platform.
Ours is a platform with its own database, the app's controller as a process of its own, and
everything on: the first machine controls and works, the others work. Each size is run three times,
and the run with the middle ratio counts; `load` is the host's when that run of ours began. `add` is
one more worker on a running cluster of two, until a job can run on it, beside the same by hand.
`installed` is a deploy on two machines with their packages there, beside the floor's phases
configure and start. `reconcile` is how many scripts one of an unchanged cluster runs on the machine
it asks most, counted in the machines' journals by its correlation id. `idle` is the controller with
the largest cluster for a minute, while it looks every 30 seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.floor import SIZES, floor_add_run, floor_run
from gpuaas_contract.apps import Operation
from gpuaas_contract.states import Health, InstanceStatus
from gpuaas_lab import Lab, sources
from gpuaas_sdk import Request
from tools.ground import ground_up
from tools.slurm_crew import as_person, packages_install
from tools.slurm_site import ENDED, SlurmSite, bundles_publish, slurm_up

DEPLOY_LIMIT = 1.25
ADD_LIMIT = 1.5
INSTALLED_LIMIT = 2.0
RECONCILE_LIMIT = 1.0
IDLE_CPU_LIMIT = 1.0
IDLE_MIB_LIMIT = 150.0
REPEAT = 3
IDLE_SECONDS = 60.0
PATIENCE_SECONDS = 900.0
WAIT_SECONDS = 20.0


@dataclass(frozen=True)
class Row:
    """One thing measured: seconds by hand and ours; of `idle`, percent of a CPU and MiB."""

    what: str
    machines: int
    floor: float
    ours: float
    limit: float
    load: float
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times the floor; where there is none, of the limit."""
        return self.ours / (self.floor or self.limit)


async def measure(sizes: tuple[int, ...] = SIZES, *, repeat: int = REPEAT) -> list[Row]:
    """Everything, sizes from small to large; the last of the largest also stands idle a while."""
    rows, still = [], list[Row]()
    for size in sizes:
        last = [size == max(sizes) and run == repeat for run in range(1, repeat + 1)]
        rows.append(_middle([await _deployed(size, still if one else None) for one in last]))
    rows.append(_middle([await _installed() for _ in range(repeat)]))
    rows.append(_middle([await _added() for _ in range(repeat)]))
    return [*rows, *still]


def within(rows: list[Row]) -> bool:
    """Whether every limit is kept."""
    return all(
        (row.ours <= row.limit) if row.floor == 0 else (row.ratio <= row.limit) for row in rows
    )


def _middle(runs: list[Row]) -> Row:
    return sorted(runs, key=lambda run: run.ratio)[len(runs) // 2]


async def _deployed(size: int, still: list[Row] | None) -> Row:
    floor = (await floor_run(size)).total
    async with _site(size) as site:
        load = os.getloadavg()[0]
        seconds, steps = await _deploy(site, size)
        if still is not None:
            still += await _idle(site, size)
    return Row("deploy", size, floor, seconds, DEPLOY_LIMIT, load, steps)


async def _installed() -> Row:
    floor = await floor_run(2)
    suite = sources.default_suite(sources.host_release())
    async with _site(2) as site:
        await packages_install(site.ground, suite, site.ground.lab.machines)
        load = os.getloadavg()[0]
        seconds, steps = await _deploy(site, 2, packages="installed")
    by_hand = floor.configure + floor.start
    return Row("installed", 2, by_hand, seconds, INSTALLED_LIMIT, load, steps)


async def _added() -> Row:
    floor = await floor_add_run(2)
    async with _site(3) as site:
        await _deploy(site, 2)
        instance = (await _instances(site))[0]
        load, began = os.getloadavg()[0], time.monotonic()
        given = {"allocation_ids": [site.ground.allocations[2]]}
        asked = await site.ask(instance, "add_worker", input=given)
        ended = await _ended(site, asked.operation)
        seconds = time.monotonic() - began
        if ended.status != "succeeded":
            raise RuntimeError(f"the add failed: {ended.error}")
        ran = await site.ground.lab.machine("n1").run(as_person("srun -w n3 hostname"))
        if ran.stdout.strip() != "n3":
            raise RuntimeError(f"no job ran on the new worker: {ran}")
    return Row("add", 3, floor, seconds, ADD_LIMIT, load, _steps(ended))


async def _idle(site: SlurmSite, size: int) -> list[Row]:
    if site.process is None:
        raise RuntimeError("no controller runs")
    scripts = await _reconcile_scripts(site)
    await asyncio.sleep(5)
    pid = site.process.pid
    load, before, began = os.getloadavg()[0], _cpu_seconds(pid), time.monotonic()
    await asyncio.sleep(IDLE_SECONDS)
    percent = 100 * (_cpu_seconds(pid) - before) / (time.monotonic() - began)
    memory = _resident_mib(pid)
    return [
        Row("reconcile: scripts a machine", size, 0.0, scripts, RECONCILE_LIMIT, load),
        Row("idle: % of a CPU", size, 0.0, percent, IDLE_CPU_LIMIT, load),
        Row("idle: MiB", size, 0.0, memory, IDLE_MIB_LIMIT, load),
    ]


async def _reconcile_scripts(site: SlurmSite) -> float:
    """How often one reconcile asked the machine it asked most; it must not change anything."""
    asked = await site.ask((await _instances(site))[0], "reconcile")
    (ended,) = await site.ended(asked)
    if ended.status != "succeeded" or ended.progress:
        raise RuntimeError(f"an unchanged cluster was reconciled: {ended.error} {ended.progress}")
    count = f"journalctl --sync; journalctl -q -t gpuaas -o cat | grep -c {ended.correlation_id}"
    counted = await asyncio.gather(
        *(machine.run(f"{count}; true") for machine in site.ground.lab.machines)
    )
    return float(max(int(one.stdout) for one in counted))


@contextlib.asynccontextmanager
async def _site(size: int) -> AsyncIterator[SlurmSite]:
    """Everything that stands before somebody asks for a cluster."""
    suite = sources.default_suite(sources.host_release())
    async with Lab.up(f"deploy-{size}", size, suite=suite) as lab, ground_up(lab) as ground:
        await bundles_publish(ground, suite)
        async with slurm_up(ground) as site:
            await asyncio.sleep(1)  # the controller has signed in and waits for work
            yield site


async def _deploy(site: SlurmSite, size: int, **given: str) -> tuple[float, str]:
    """Seconds from POST to running and healthy, and when each step began and ended."""
    first, *others = site.ground.allocations[:size]
    settings: dict[str, Any] = {
        "controller_allocation_id": first,
        "worker_placement": "separate",
        "worker_allocation_ids": [first, *others],
        "settings": given,
    }
    began = time.monotonic()
    asked = await site.deploy("bench", settings)
    ended = await _ended(site, asked.operation)
    instance = await site.instance(asked.instance.id)
    seconds = time.monotonic() - began
    if (instance.status, instance.health) != (InstanceStatus.RUNNING, Health.HEALTHY):
        raise RuntimeError(f"the deploy ended {ended.status}: {ended.error}")
    return seconds, _steps(ended)


async def _ended(site: SlurmSite, asked: Operation) -> Operation:
    """An operation once it has ended: it is waited for, since asking again and again costs CPU."""
    found = asked
    async with asyncio.timeout(PATIENCE_SECONDS):
        while found.status not in ENDED:
            request = Request(
                "GET",
                f"/operations/{asked.id}",
                params={"wait": f"{WAIT_SECONDS:g}s", "after_revision": found.revision},
                wait=WAIT_SECONDS,
            )
            found = await site.admin.call(request, Operation)
    return found


def _steps(ended: Operation) -> str:
    """When each step began and ended, in seconds since the request: the waterfall."""
    asked = ended.requested_at
    return ", ".join(
        f"{step.name} {(step.started_at - asked).total_seconds():.2f}"
        f"-{(step.ended_at - asked).total_seconds():.2f}"
        for step in ended.progress
        if step.ended_at is not None and step.started_at is not None
    )


async def _instances(site: SlurmSite) -> list[str]:
    listed = site.admin.pages("/app-instances", dict)
    return [str(one["id"]) async for one in listed]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
