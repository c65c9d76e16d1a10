"""One cluster through its life, in the hands of tests: what is asked of it, and what is seen.

Everything is asked through the public API; what is seen on machines is seen as their own operator
would see it.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from rebuilt_bundle import bundles_newer

from gpuaas_contract.apps import Member
from gpuaas_contract.catalog import VersionCreate
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus
from gpuaas_lab import Machine
from gpuaas_sdk import Request
from gpuaas_sdk.artifacts import Publication, artifact_publish
from gpuaas_slurm.bundling import ROLES
from gpuaas_slurm.command.controller import manifest_text
from gpuaas_slurm.delivery import artifact_name, artifact_platform, bundle_name
from gpuaas_slurm.onmachine.residue import residue_env, residue_found
from gpuaas_slurm.onmachine.scripts import script_text
from tools.ground import Ground
from tools.slurm_crew import as_person, members, succeeded, until
from tools.slurm_site import SLUG, SlurmSite, bundles_publish, slurm_up

OBSERVE_S: Final = 2
"""How often the controller looks: each look asks every machine, and costs what that costs."""
NEXT: Final = "0.2.0"
INSTALLED: Final = "dpkg-query -W -f '${Version}' slurm-client"


@dataclass
class Life:
    """One cluster and what happened to it so far."""

    site: SlurmSite
    suite: str
    instance_id: str = ""
    packages: dict[str, set[str]] = field(default_factory=dict)

    @property
    def ground(self) -> Ground:
        """What it stands on."""
        return self.site.ground

    def machine(self, name: str) -> Machine:
        """One of the lab's machines."""
        return self.ground.lab.machine(name)

    async def run(self, command: str, *, check: bool = True) -> str:
        """Run something where people work: on the controller's machine."""
        return (await self.machine("n1").run(command, check=check)).stdout

    async def person(self, command: str) -> str:
        """Run something there as one of the cluster's people."""
        return await self.run(as_person(command))

    async def ask(self, kind: str, *names: str, **given: Any) -> None:
        """Ask for an operation on workers by name, and see it succeed."""
        known = await members(self.site, self.instance_id)
        ids = [known[name].id for name in names]
        asked = await self.site.ask(self.instance_id, kind, member_ids=ids, input=given)
        await succeeded(self.site, asked)

    async def whole(self, kind: str, **more: Any) -> None:
        """Ask for an operation on the whole cluster, and see it succeed."""
        await succeeded(self.site, await self.site.ask(self.instance_id, kind, **more))

    async def add(self, *names: str) -> None:
        """Add machines as workers, all with one request."""
        ids = [self.ground.allocation(name) for name in names]
        await self.whole("add_worker", input={"allocation_ids": ids})

    async def member(self, name: str) -> Member:
        """The worker on a machine."""
        return (await members(self.site, self.instance_id))[name]

    async def healthy(self) -> None:
        """The platform says, once it was looked at again, that all is well."""
        await until(
            lambda: self.site.instance(self.instance_id),
            lambda one: (one.status, one.health) == (InstanceStatus.RUNNING, Health.HEALTHY),
        )

    async def job(self, command: str) -> str:
        """Submit a job and wait until it runs; its number."""
        number = (await self.person(f"sbatch --parsable {command}")).strip()
        await self.run(
            f"for i in $(seq 600); do squeue -h -t R -j {number} | grep -q . && exit; sleep .2;"
            " done; exit 1"
        )
        return number

    async def quiet(self) -> None:
        """Wait until nothing runs or completes."""
        await self.run(
            "for i in $(seq 600); do squeue -h | grep -q . || exit 0; sleep .2; done; exit 1"
        )

    async def versions(self) -> dict[str, str]:
        """The three versions the app tells, and the one the platform does."""
        instance = await self.site.instance(self.instance_id)
        assert instance.adapter_detail is not None
        found: dict[str, str] = instance.adapter_detail.detail["versions"]
        return found | {"instance": instance.app_version}

    async def installed(self) -> set[str]:
        """What the members' machines have installed, by their own word."""
        names = sorted({*await members(self.site, self.instance_id), "n1"})
        ran = await asyncio.gather(*(self.machine(name).run(INSTALLED) for name in names))
        return {one.stdout for one in ran}

    async def newer_publish(self) -> None:
        """Publish bundles with newer packages, and an app version that stands on them."""
        folder = await bundles_newer(self.suite)
        for role in ROLES:
            wanted = Publication(
                f"packages-{self.suite}",
                artifact_name(role),
                folder.name,
                artifact_platform(self.suite),
            )
            path = folder / bundle_name(self.suite, role)
            await artifact_publish(self.ground.admin, path, wanted)
        manifest = json.loads(manifest_text(folder.name))
        version = VersionCreate(version=NEXT, manifest=manifest, publish=True)
        await self.ground.admin.send(Request("POST", f"/apps/{SLUG}/versions", version))

    async def tombstones(self) -> int:
        """How many members were removed, each with the proof that nothing of it is left."""
        path = f"/app-instances/{self.instance_id}/members"
        listed = [one async for one in self.site.admin.pages(path, Member, removed=True)]
        gone = [one for one in listed if one.status is MemberStatus.REMOVED]
        assert all(one.absence and one.absence.runtime_verified_absent for one in gone)
        return len(gone)

    async def nothing_left(self, *names: str) -> None:
        """Machines are as they were before: the probe finds nothing, and no package is new."""
        env = " ".join(f"{k}={shlex.quote(v)}" for k, v in residue_env(kept_packages=False).items())
        for name in names:
            machine = self.machine(name)
            probed = await machine.run(f"env {env} sh -s", stdin=script_text("residue"))
            assert residue_found(probed.stdout) == {}, name
            assert await packages_of(machine) == self.packages[name], name


@asynccontextmanager
async def life_up(
    ground: Ground, suite: str, observe_seconds: int = OBSERVE_S
) -> AsyncIterator[Life]:
    """A controller for machines as they came, with packages published for them; no cluster yet."""
    await bundles_publish(ground, suite)
    options = ("--observe-seconds", str(observe_seconds), "--lease-seconds", "10")
    async with slurm_up(ground, options=options) as site:
        found = Life(site, suite)
        for machine in ground.lab.machines:
            found.packages[machine.name] = await packages_of(machine)
        yield found


async def packages_of(machine: Machine) -> set[str]:
    """Every package a machine has."""
    listed = await machine.run("dpkg-query -W -f '${Package}\\n'")
    return set(listed.stdout.split())
