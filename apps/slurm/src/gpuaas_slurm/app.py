"""The app: which steps each kind of operation is made of. Read this first.

`slurm_app(services)` is all the runtime needs. Each operation's list of steps is made in a module
of `operations/`; what is true at the end is looked at, never remembered.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.metadata import version

from gpuaas_sdk import App, Context, Facts, Plan, Procedure, Step, Target
from gpuaas_slurm.health import health
from gpuaas_slurm.observe import Seen, cluster_seen, observe
from gpuaas_slurm.operations.deploy import deploy
from gpuaas_slurm.operations.scope import Scope, scope_of
from gpuaas_slurm.services import Services

SLUG = "slurm"

Steps = Callable[[Scope], Sequence[Step]]


def slurm_app(services: Services, slug: str = SLUG) -> App[Seen]:
    """The app, with what it asks of the platform."""

    def procedure(steps: Steps) -> Procedure:
        async def load(ctx: Context) -> Sequence[Step]:
            return steps(scope_of(services, ctx))

        return Procedure(load, seen)

    async def seen(ctx: Context) -> Facts:
        return health(ctx.target, await cluster_seen(ctx.machines, ctx.target))

    def plan(target: Target, seen: Seen, now: datetime) -> Plan:
        del target, seen, now
        return Plan()

    return App(
        slug=slug,
        version=version("gpuaas-slurm"),
        operations={"deploy": procedure(deploy)},
        observe=observe,
        plan=plan,
        health=health,
    )
