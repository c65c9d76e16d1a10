"""A step done on several machines at once, each by one script that ends with a look."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from gpuaas_sdk import Context, Step
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.sites import Site


class OnSites(Step):
    """A step whose effect is something on each of some machines.

    `holds` says, from a look alone, whether it is there; `make` makes it on one machine. Machines
    where it is there already are left alone.
    """

    deadline_seconds: ClassVar[int | None] = 300

    def __init__(self, ground: Ground, sites: Iterable[Site]) -> None:
        self.ground = ground
        self._sites = tuple(sites)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The machines it is about, without those that were left out."""
        return self.ground.present(self._sites)

    async def check(self, ctx: Context) -> bool:
        """Whether it is so on every machine."""
        return not await self.open_sites(ctx)

    async def do(self, ctx: Context) -> None:
        """Make it so where it is not."""
        missing = await self.open_sites(ctx)
        before = set(self.ground.left_out)
        await self.ground.each(missing, lambda site: self.make(ctx, site))
        lost = {one: why for one, why in self.ground.left_out.items() if one not in before}
        told = "".join(f"; left out {one}: {why.message[:500]}" for one, why in lost.items())
        ctx.say(self.told(list(self.ground.present(missing))) + told)

    async def open_sites(self, ctx: Context) -> list[Site]:
        """The machines where it is not so."""

        async def held(site: Site) -> bool:
            return await self.holds(ctx, site, await self.ground.look(site))

        found = await self.ground.each(self.sites, held)
        return [site for site in self.sites if not found[site.allocation_id]]

    def told(self, sites: list[Site]) -> str:
        """One sentence about what was done."""
        return f"on {len(sites)} machine{'' if len(sites) == 1 else 's'}"

    @abstractmethod
    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether it is so on this machine."""

    @abstractmethod
    async def make(self, ctx: Context, site: Site) -> None:
        """Make it so on this machine, from whatever half of it is there."""
