"""From what was found and asked for to what the cluster and its machines shall be.

`machine_for` and `cluster_for` are pure; `Maker` gathers what they need from the ground. What was
decided once stands in the documents on the machines and is taken from there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpuaas_slurm.documents import ClusterDocument, Record
from gpuaas_slurm.facts import Place, machine_from_facts
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.model import (
    Build,
    Cluster,
    Machine,
    containment_for,
    memory_per_cpu_for,
)
from gpuaas_slurm.onmachine.facts import MachineFacts
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.services import Services
from gpuaas_slurm.settings import FEATURE, Settings, settings_of
from gpuaas_slurm.sites import Site
from gpuaas_slurm.version import SlurmVersion

VERSIONED = ("slurmctld", "slurmd", "slurm-client")
"""Packages whose version is Slurm's, the first one found counts."""


@dataclass(frozen=True)
class Maker:
    """Decides what machines and the cluster shall be, on one ground."""

    ground: Ground
    services: Services
    renew: bool = False
    rebuild: bool = False
    """Whether the Slurm that is installed now counts, not the one the cluster was made with."""

    async def record(self, site: Site) -> Record:
        """What a machine shall be: as it was decided, or decided now."""
        kept = await self.ground.record(site)
        if kept is not None and kept.allocation_id == site.allocation_id:
            return replace(kept, roles=site.roles)
        facts = await self.ground.facts(site)
        look = await self.ground.look(site)
        name = node_name(look.hostname, site, await self._taken(site))
        address = address_for(await self.ground.address(site, self.services.address), facts)
        return Record(
            instance_id=self.ground.target.instance.id,
            allocation_id=site.allocation_id,
            machine=machine_for(Place(name, address, (FEATURE,)), facts),
            roles=site.roles,
        )

    async def document(self) -> ClusterDocument:
        """What the cluster shall be: as it was decided, or decided now."""
        kept = await self.ground.document()
        if kept is not None:
            if not self.renew:
                return kept
            look = await self.ground.look(self.ground.controller)
            build = build_of(look) if self.rebuild else kept.cluster.build
            return renewed(kept, settings_of(self.ground.target.instance), build)
        records = await self.ground.each(self.ground.present(self.ground.sites), self.record)
        controller = records[self.ground.controller.allocation_id].machine
        workers = tuple(records[site.allocation_id].machine for site in self.ground.workers)
        settings = settings_of(self.ground.target.instance)
        look = await self.ground.look(self.ground.controller)
        return ClusterDocument(
            instance_id=self.ground.target.instance.id,
            cluster=cluster_for(settings, build_of(look), controller, workers),
            accounts={self.ground.target.instance.project_id: settings.account},
        )

    async def _taken(self, site: Site) -> set[str]:
        """Names other machines of the cluster have, or will have because they come first."""
        taken: set[str] = set()
        for other in self.ground.sites:
            if other.allocation_id == site.allocation_id:
                break
            if other.allocation_id not in self.ground.left_out:
                taken.add(other.node or (await self.ground.look(other)).hostname)
        return taken | {s.node for s in self.ground.sites if s is not site and s.node}


def node_name(hostname: str, site: Site, taken: Iterable[str]) -> str:
    """Return what Slurm shall call a machine: its own name, unless another has it."""
    if site.node:
        return site.node
    if hostname not in set(taken):
        return hostname
    return f"{hostname}-{site.allocation_id.rpartition('_')[2][-8:].lower()}"


def address_for(known: str, facts: MachineFacts) -> str:
    """Return where the others reach a machine: as the platform does, if the machine has that."""
    if known in facts.addresses or not facts.addresses:
        return known
    return facts.addresses[0]


def machine_for(place: Place, facts: MachineFacts) -> Machine:
    """Return a machine nobody may use yet."""
    return machine_from_facts(place, facts.facts)


def cluster_for(
    settings: Settings, build: Build, controller: Machine, workers: tuple[Machine, ...]
) -> Cluster:
    """Return a new cluster at its first generation."""
    members = workers or (controller,)
    return Cluster(
        name=settings.cluster_name,
        generation=1,
        build=build,
        controller=controller,
        partitions=settings.partitions,
        containment=containment_for(members),
        memory_per_cpu_mib=memory_per_cpu_for(members),
        finished_job_seconds=settings.finished_job_seconds,
    )


def renewed(
    document: ClusterDocument, settings: Settings, build: Build | None = None
) -> ClusterDocument:
    """Return the document with the settings of now: the next generation, if that changes it."""
    cluster = document.cluster
    wanted = replace(
        cluster,
        build=build or cluster.build,
        partitions=settings.partitions,
        finished_job_seconds=settings.finished_job_seconds,
    )
    if wanted == cluster:
        return document
    return replace(document, cluster=replace(wanted, generation=cluster.generation + 1))


def build_of(look: MachineLook) -> Build:
    """Return the Slurm that is installed on a machine."""
    version = next(look.packages[name] for name in VERSIONED if name in look.packages)
    return Build(SlurmVersion.parse(version), look.plugins, pmix_library=look.pmix_library)
