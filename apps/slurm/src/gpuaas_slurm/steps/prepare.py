"""Before a daemon runs: examine the machines, install packages, place the key and the files."""

import asyncio
import hashlib
from collections.abc import Iterable
from typing import ClassVar

import msgspec

from gpuaas_sdk import Context, PermanentFailure, Step
from gpuaas_sdk.machines import File
from gpuaas_slurm.delivery import Packages
from gpuaas_slurm.distribution import DISTRIBUTIONS, Distribution
from gpuaas_slurm.documents import (
    ClusterDocument,
    Record,
    configuration_for,
    documents_for,
)
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.making import Maker
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.onmachine.scripts import CONFIGURATION, HOME, INSTALLING, MUNGE_KEY, Script
from gpuaas_slurm.preflight import Problem, Subject, problems_of, summary
from gpuaas_slurm.render import RenderedFile
from gpuaas_slurm.render.processes import PATH as PROCESSES
from gpuaas_slurm.render.processes import WANTED as PROCESSES_WANTED
from gpuaas_slurm.sites import Site
from gpuaas_slurm.steps.base import OnSites
from gpuaas_slurm.words import counted

VISIBLE, REFUSED = "visible", "refused"
"""Of other people's processes, in the words of a look."""


class Preflight(Step):
    """Nothing stands in the way on these machines; everything that does is named at once."""

    name = "preflight"
    deadline_seconds: ClassVar[int | None] = 120

    def __init__(self, ground: Ground, maker: Maker, sites: Iterable[Site]) -> None:
        self.ground = ground
        self.maker = maker
        self._sites = tuple(sites)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The machines it is about, without those that were left out."""
        return self.ground.present(self._sites)

    async def do(self, ctx: Context) -> None:
        """Examine; what was found in the way is the failure."""
        # The way to the machines is opened meanwhile; who asks one shares the attempt, and its end.
        opening = [self.ground.machines.open(site.allocation_id) for site in self.sites]
        ways = asyncio.gather(*opening, return_exceptions=True)
        try:
            await self._examine(ctx)
        finally:
            ways.cancel()

    async def _examine(self, ctx: Context) -> None:
        addresses = await self.ground.each(
            self.ground.sites, lambda site: self.ground.address(site, self.maker.services.address)
        )

        async def asked(site: Site) -> dict[str, str]:
            others = self.ground.sites if site.controller else (self.ground.controller,)
            peers = {
                addresses[other.allocation_id]: other.node or other.allocation_id
                for other in others
                if other is not site and (other in self.sites or other.controller)
            }
            await self.ground.facts(site, tuple(peers))
            return peers

        peers = await self.ground.each(self.sites, asked)
        document = await self.ground.document()
        containment = None if document is None else document.cluster.containment
        problems: list[Problem] = []
        for site in self.sites:
            look, facts = await self.ground.look(site), await self.ground.facts(site)
            here = {addresses[one.allocation_id] for one in self.ground.present(self.ground.sites)}
            mine = {at: who for at, who in peers[site.allocation_id].items() if at in here}
            subject = Subject(site, look, facts, ctx.instance.id, mine, containment)
            problems += problems_of(subject)
        if problems:
            raise PermanentFailure(
                "preflight_failed",
                summary(problems),
                detail={"problems": [msgspec.to_builtins(problem) for problem in problems]},
            )
        ctx.say(f"{counted(len(self.sites), 'machine')} examined, nothing in the way")


class Install(OnSites):
    """The packages are installed; none of their daemons was started by it."""

    name = "install"
    deadline_seconds = 900

    def __init__(self, ground: Ground, packages: Packages, sites: Iterable[Site]) -> None:
        super().__init__(ground, sites)
        self.packages = packages

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether every package is there, whole, and the app's folder is root's alone."""
        del ctx
        return private(look) and self._installed(site, look)

    async def make(self, ctx: Context, site: Site) -> None:
        """Bring the packages to the machine and install them."""
        look = await self.ground.look(site)
        distribution = _distribution(look)
        if not private(look):
            # First of all: packages and files are brought by other means than scripts.
            await self.ground.run(site, Script("home", sees=("files",)))
        if self._installed(site, look):
            return
        machine = await self.ground.machines.open(site.allocation_id)
        source = await self.packages.delivered(ctx, site, look, machine)
        links = " ".join(f"{link.path}:{link.target}" for link in distribution.links)
        names = " ".join(distribution.packages(site.roles))
        env = {"NAMES": names, "LINKS": links, **source}
        await self.ground.run(site, Script("install", env, timeout=850))

    @staticmethod
    def _installed(site: Site, look: MachineLook) -> bool:
        distribution = _distribution(look)
        wanted = distribution.packages(site.roles)
        linked = all(link.path in look.present for link in distribution.links)
        return set(wanted) <= set(look.packages) and linked and INSTALLING not in look.present


class MungeKey(OnSites):
    """Every machine has the instance's key, from custody, and munge uses it."""

    name = "munge"

    def __init__(self, ground: Ground, maker: Maker, sites: Iterable[Site]) -> None:
        super().__init__(ground, sites)
        self.maker = maker
        self._key: bytes | None = None
        self._asking = asyncio.Lock()

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether the key is there and munge runs."""
        del site
        if not look.unit("munge").up or MUNGE_KEY not in look.files:
            return False
        return look.files[MUNGE_KEY].digest == hashlib.sha256(await self._wanted(ctx)).hexdigest()

    async def make(self, ctx: Context, site: Site) -> None:
        """Put the key in place; munge is stopped meanwhile, so that no old one stays in use."""
        key = await self._wanted(ctx)
        await self.ground.run(site, Script("munge", input=key, sees=("files", "units")))

    async def _wanted(self, ctx: Context) -> bytes:
        async with self._asking:  # custody is asked once, for however many machines
            if self._key is None:
                self._key = await self.maker.services.munge_key(ctx)
            return self._key


class Configure(OnSites):
    """Every machine has its files of the cluster's present generation, and no others of ours."""

    name = "configure"

    def __init__(
        self, ground: Ground, maker: Maker, sites: Iterable[Site], *, started_next: bool = False
    ) -> None:
        super().__init__(ground, sites)
        self.maker = maker
        self._later = "yes" if started_next else ""
        self._decided: dict[str, tuple[ClusterDocument, Record, MachineLook]] = {}
        self._processes: dict[str, str] = {}

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether every file is as rendered, and what the machine is stands in its record."""
        del ctx
        document, record = await self.maker.document(), await self.maker.record(site)
        # Kept for `make`: while files are written, machines are not looked at to decide anew.
        self._decided[site.allocation_id] = document, record, look
        if await self.ground.record(site) != record:
            return False
        if site.controller and await self.ground.document() != document:
            return False
        wanted = configuration_for(document.cluster, record.machine, worker=site.worker)
        return not drifted(look, wanted) and not unwanted(look, wanted) and not exposed(look)

    async def make(self, ctx: Context, site: Site) -> None:
        """Put the files in place; the documents last, since they say that the rest is there.

        A file that is as it should be is not written again: whoever reads it would start anew.
        """
        del ctx
        document, record, look = self._decided[site.allocation_id]
        wanted = configuration_for(document.cluster, record.machine, worker=site.worker)
        other = set(drifted(look, wanted))
        changed = [file for file in wanted if file.path in other]
        placed = [_file(file) for file in (*changed, *documents_for(document, record))]
        gone = " ".join(unwanted(look, wanted))
        env = {
            "UNWANTED": gone,
            "LATER": self._later,
            "PROCESSES": PROCESSES,
            "PROCESSES_WANTED": PROCESSES_WANTED,
        }
        after = await self.ground.run(site, Script("reload", env, sees=("files",)), placed)
        self._processes[site.allocation_id] = after.processes

    def told(self, sites: list[Site]) -> str:
        """One sentence about what was done, and what the machines did not allow."""
        refused = [
            f"; processes of others stay visible on {self._name(site)}: {why}"
            for site in sites
            if (why := visible_why(self._processes.get(site.allocation_id, "")))
        ]
        return super().told(sites) + "".join(refused)

    def _name(self, site: Site) -> str:
        return self._decided[site.allocation_id][1].machine.name


class ConfigureElsewhere(Configure):
    """The same on machines without the controller."""

    name = "configure_workers"


class ConfigureRest(Configure):
    """The same on a machine that goes on with less: only the files of the part that left go."""

    name = "configure_rest"


def drifted(look: MachineLook, wanted: Iterable[RenderedFile]) -> list[str]:
    """Return the paths of files that are not as rendered."""
    return [file.path for file in wanted if not _same(look, file)]


def private(look: MachineLook) -> bool:
    """Whether the app's folder on a machine is root's alone."""
    seen = look.files.get(HOME)
    return seen is not None and (seen.mode, seen.owner) == (0o700, "root")


def exposed(look: MachineLook) -> list[str]:
    """Return what ordinary users of a machine can reach or see and need not."""
    found = [] if private(look) else [HOME]
    # What the machine refuses is told, and not tried again and again.
    return [*found, "/proc"] if look.processes == VISIBLE else found


def visible_why(processes: str) -> str:
    """Return why a machine shows other people's processes; empty where it hides them."""
    word, _, reason = processes.partition(" ")
    return (reason or "no reason given") if word == REFUSED else ""


def unwanted(look: MachineLook, wanted: Iterable[RenderedFile]) -> list[str]:
    """Return the paths of files that should not be there."""
    paths = {file.path for file in wanted}
    return [path for path in CONFIGURATION if path in look.files and path not in paths]


def _same(look: MachineLook, file: RenderedFile) -> bool:
    seen = look.files.get(file.path)
    return seen is not None and (seen.digest, seen.mode, seen.owner, seen.group) == (
        hashlib.sha256(file.text.encode()).hexdigest(),
        file.mode,
        file.owner,
        file.group,
    )


def _file(file: RenderedFile) -> File:
    return File(file.path, file.text.encode(), file.mode, file.owner, file.group)


def _distribution(look: MachineLook) -> Distribution:
    found = DISTRIBUTIONS.get(look.codename)
    if found is None:
        text = f"Packages for {look.system} {look.codename} are not known."
        raise PermanentFailure("system_unknown", text)
    return found
