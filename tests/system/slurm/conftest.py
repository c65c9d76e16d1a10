"""A real Slurm from rendered files: lab machines, the distribution's packages, the app's renderers.

    cluster = await deployed("bookworm")

What a controller would do step by step is done here by the shortest way, since these tests are
about the files and the commands. Each suite's cluster is made once and ends with its test file.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import gpuaas_agent
from gpuaas_lab import Lab, Machine, Settings
from gpuaas_lab.ssh import Result as Ran
from gpuaas_slurm import model as model_of
from gpuaas_slurm.commands import Result, Slurm
from gpuaas_slurm.commands.slurm import slurm_connect
from gpuaas_slurm.distribution import DISTRIBUTIONS, PLUGINS, Distribution
from gpuaas_slurm.facts import Place, machine_from_facts
from gpuaas_slurm.model import Build, Cluster, containment_for, memory_per_cpu_for
from gpuaas_slurm.render import RenderedFile, machine_files
from gpuaas_slurm.render.slurm_conf import STATE
from gpuaas_slurm.render.slurmdbd_conf import database_statements
from gpuaas_slurm.version import SlurmVersion
from tools.slurm_crew import packages_settle, packages_wanted
from tools.suites import suites

GPUS = 2
PERSON = "alice"
"""An ordinary user of every machine: root's jobs are refused."""
# Where the lab's distribution has one release with the packages, there is no newer one to live on.
collect_ignore = [] if suites()[1:] else ["test_slurm_newer.py"]


@dataclass(frozen=True)
class Deployed:
    """A cluster of two lab machines: n1 controls and works, n2 works and has fake GPUs."""

    lab: Lab
    model: Cluster
    slurm: Slurm

    @property
    def controller(self) -> Machine:
        """The machine slurmctld runs on."""
        return self.lab.machine("n1")

    @property
    def worker(self) -> Machine:
        """The other machine."""
        return self.lab.machine("n2")

    async def files_place(self, machine: Machine, files: Sequence[RenderedFile]) -> None:
        """Put rendered files in place."""
        await _files_place(machine, files)

    async def answering(self) -> None:
        """Wait until slurmctld answers."""
        await _answering(self.controller)

    async def job(self, command: str, *, check: bool = True) -> Ran:
        """Run a command where people work, as one of them, in their home."""
        line = f"runuser -l {PERSON} -c {shlex.quote(command)}"
        return await self.controller.run(line, check=check)

    async def complaints(self, machine: Machine, service: str) -> list[str]:
        """Return what a service complained about since it was last started."""
        ran = await machine.run(
            f"journalctl --output=cat --no-pager --unit={service}"
            f" _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID {service})"
        )
        words = ("error", "warning", "fatal")
        return [line for line in ran.stdout.splitlines() if any(w in line.lower() for w in words)]


Deploy = Callable[[str], Awaitable[Deployed]]


@pytest.fixture(scope="module")
async def deployed(lab_host: Settings, lab_prefix: str) -> AsyncIterator[Deploy]:
    """Bring up a suite's cluster, or return the one that is there."""
    async with AsyncExitStack() as stack:
        made: dict[str, Deployed] = {}

        async def deploy(suite: str) -> Deployed:
            if suite not in made:
                name, wanted = f"{lab_prefix}-slurm-{suite}", await packages_wanted(suite)
                scoped = Lab.up(name, 2, suite=suite, packages=wanted, settings=lab_host)
                made[suite] = await _deploy(await stack.enter_async_context(scoped), suite)
            return made[suite]

        yield deploy


async def _files_place(machine: Machine, files: Sequence[RenderedFile]) -> None:
    """Put rendered files in place, as theirs say."""
    for file in files:
        await machine.write(file.path, file.text, file.mode)
        await machine.run(f"chown {file.owner}:{file.group} {shlex.quote(file.path)}")
    await machine.run("systemctl daemon-reload")


async def _deploy(lab: Lab, suite: str) -> Deployed:
    distribution = DISTRIBUTIONS[suite]
    await lab.machine("n2").fake_gpus(GPUS)
    await packages_settle(suite, lab.machines)
    model = await _observe(lab, distribution)
    await _munge(lab)
    for machine in lab.machines:
        await _files_place(machine, machine_files(model, _part(model, machine.name)))
    return Deployed(lab, model, await _start(lab, model))


def _part(model: Cluster, name: str) -> model_of.Machine:
    return next(machine for machine in model.machines if machine.name == name)


async def _observe(lab: Lab, distribution: Distribution) -> Cluster:
    """Make the model from what the agent and the packages say, on the machines."""
    facts = await asyncio.gather(*(_facts(machine) for machine in lab.machines))
    found = tuple(
        machine_from_facts(Place(machine.name, str(machine.address), ("main",)), fact)
        for machine, fact in zip(lab.machines, facts, strict=True)
    )
    # Lab machines share one memory; each offers a part of what it believes to have.
    workers = tuple(replace(machine, memory_mib=machine.memory_mib // 8) for machine in found)
    return Cluster(
        name="lab",
        generation=1,
        build=await _build(lab.machine("n1"), distribution),
        controller=found[0],
        workers=workers,
        containment=containment_for(workers),
        memory_per_cpu_mib=memory_per_cpu_for(workers),
    )


async def _facts(machine: Machine) -> dict[str, object]:
    source = Path(gpuaas_agent.__file__).parent
    for path in sorted(source.rglob("*.py")):
        await machine.write(f"/opt/agent/gpuaas_agent/{path.relative_to(source)}", path.read_text())
    ran = await machine.run("cd /opt/agent && python3 -m gpuaas_agent.main facts --compact")
    return json.loads(ran.stdout)  # type: ignore[no-any-return]  # an object, by the agent's format


async def _build(machine: Machine, distribution: Distribution) -> Build:
    version = (await machine.run("slurmctld -V")).stdout
    plugins = (await machine.run(f"ls {PLUGINS}")).stdout.split()
    library = await machine.run(f"test -e {distribution.pmix_library}", check=False)
    return Build(
        SlurmVersion.parse(version),
        frozenset(name.removesuffix(".so") for name in plugins),
        pmix_library=library.status == 0,
    )


async def _munge(lab: Lab) -> None:
    key = secrets.token_bytes(1024)
    for machine in lab.machines:
        await machine.write("/etc/munge/munge.key", key, 0o400)
        await machine.run("chown munge:munge /etc/munge/munge.key && systemctl restart munge")


async def _start(lab: Lab, model: Cluster) -> Slurm:
    controller = lab.machine("n1")
    await controller.run(f"install -d -o slurm -g slurm -m 0755 {STATE}")
    await controller.run("systemctl restart mariadb")
    assert model.accounting is not None
    for statement in database_statements(model.accounting):
        await controller.run("mariadb", stdin=statement)
    await controller.run("systemctl restart slurmdbd")
    slurm = Slurm(_runner(controller), model.build.version)
    await slurm.cluster_add(model.name)
    await slurm.account_add(model.name, "proj")
    for machine in lab.machines:
        await machine.run(f"useradd --create-home --uid 2001 {PERSON}")
    await slurm.user_add(model.name, "proj", PERSON)
    await controller.run("systemctl restart slurmctld")
    await asyncio.gather(*(m.run("systemctl restart slurmd") for m in lab.machines))
    return await slurm_connect(_runner(controller))


async def _answering(controller: Machine) -> None:
    """Wait until slurmctld answers."""
    await controller.run(
        "for i in $(seq 600); do scontrol ping | grep -q UP && exit; sleep .1; done; exit 1"
    )


def _runner(machine: Machine) -> Callable[[Sequence[str]], Awaitable[Result]]:
    """Run Slurm's commands on a machine, over SSH."""

    async def run(argv: Sequence[str]) -> Result:
        ran = await machine.run(shlex.join(argv), check=False)
        return Result(tuple(argv), ran.status, ran.stdout, ran.stderr)

    return run
