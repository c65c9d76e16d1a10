"""What every operation's list of steps is made from: the ground, and who decides on it."""

from dataclasses import dataclass

from gpuaas_sdk import Context
from gpuaas_slurm.delivery import Packages
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.making import Maker
from gpuaas_slurm.services import Services
from gpuaas_slurm.sites import Site, site_of


@dataclass(frozen=True)
class Scope:
    """One attempt of one operation."""

    ctx: Context
    ground: Ground
    maker: Maker
    packages: Packages

    @property
    def mine(self) -> tuple[Site, ...]:
        """The machine of the member the operation acts on."""
        return (site_of(self.ctx.target, self.ctx.member),)


def scope_of(services: Services, ctx: Context, *, renew: bool = False) -> Scope:
    """Make what an attempt stands on; `renew`: settings that changed become a new generation."""
    ground = Ground(ctx.machines, ctx.target)
    return Scope(ctx, ground, Maker(ground, services, renew=renew), Packages(services))
