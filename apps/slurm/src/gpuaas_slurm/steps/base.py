"""A step done on several machines at once, each by one script that ends with a look."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from gpuaas_sdk import Context, Step
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.sites import Site
from gpuaas_slurm.words import counted


class OnSites(Step):
    """A step whose effect is something on each of some machines.

    `holds` says, from a look alone, whether it is there; `make` makes it on one machine. Machines
    where it is there already are left alone.
    """

    deadline_seconds: ClassVar[int | None] = 300

    def __init__(self, ground: Ground, sites: Iterable[Site]) -> None:
        self.ground = ground
        self._sites = tuple(sites)
        self._gone: set[str] = set()

    @property
    def sites(self) -> tuple[Site, ...]:
        """The machines it is about, without those that were left out."""
        return self.ground.present(self._sites)

    async def check(self, ctx: Context) -> bool:
        """Whether it is so on every machine."""
        self._gone = set(self.ground.left_out)
        if await self.open_sites(ctx):
            return False
        if lost := self._lost():
            ctx.say(f"It was so already{lost}")
        return True

    async def do(self, ctx: Context) -> None:
        """Make it so where it is not."""
        missing = await self.open_sites(ctx)
        await self.ground.each(missing, lambda site: self.make(ctx, site))
        ctx.say(self.told(list(self.ground.present(missing))) + self._lost())

    def _lost(self) -> str:
        """The machines that were left out since the step was looked at first, and why."""
        lost = {one: why for one, why in self.ground.left_out.items() if one not in self._gone}
        return "".join(f"; left out {one}: {why.message[:500]}" for one, why in lost.items())

    async def open_sites(self, ctx: Context) -> list[Site]:
        """The machines where it is not so."""

        async def held(site: Site) -> bool:
            return await self.holds(ctx, site, await self.ground.look(site))

        found = await self.ground.each(self.sites, held)
        return [site for site in self.sites if not found[site.allocation_id]]

    def told(self, sites: list[Site]) -> str:
        """One sentence about what was done."""
        return f"on {counted(len(sites), 'machine')}"

    @abstractmethod
    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether it is so on this machine."""

    @abstractmethod
    async def make(self, ctx: Context, site: Site) -> None:
        """Make it so on this machine, from whatever half of it is there."""
