"""The cluster as a whole: stop, start, restart, decommission."""

from collections.abc import Sequence

from gpuaas_sdk import Step
from gpuaas_slurm.operations.scope import Scope
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.steps.clean import Cleaned
from gpuaas_slurm.steps.daemons import (
    Database,
    Munge,
    Restarted,
    Slurmctld,
    Slurmd,
    Slurmdbd,
    Stopped,
)
from gpuaas_slurm.steps.nodes import Registered
from gpuaas_slurm.steps.prepare import Preflight
from gpuaas_slurm.steps.quiet import Quiet
from gpuaas_slurm.steps.secret import KeyRevoked

HEAD_DOWN = ("slurmctld", "slurmdbd", "mariadb", "munge")


def stop(scope: Scope) -> Sequence[Step]:
    """Workers first, the database last; nothing starts again by itself."""
    return [Quiet(scope.ground, scope.ctx.operation.input.get("jobs", "refuse")), *_down(scope)]


def start(scope: Scope) -> Sequence[Step]:
    """In the order in which daemons need each other, once nothing is in their way."""
    ground = scope.ground
    head, workers = (ground.controller,), ground.workers
    steps: list[Step] = [
        Preflight(ground, scope.maker, ground.sites),
        Munge(ground, ground.sites),
        Database(ground, head),
        Slurmdbd(ground, head),
        Slurmctld(ground, head),
    ]
    if workers:
        steps += [Slurmd(ground, workers), Registered(ground, scope.maker, workers)]
    return steps


def restart(scope: Scope) -> Sequence[Step]:
    """Daemons start anew; unless something else was chosen, jobs live on meanwhile."""
    ground, choice = scope.ground, scope.ctx.operation.input.get("jobs", "keep")
    head, workers = (ground.controller,), ground.workers
    steps: list[Step] = [] if choice == "keep" else [Quiet(ground, choice)]
    steps += [
        Munge(ground, ground.sites),
        Database(ground, head),
        Restarted(ground, head, "slurmdbd"),
        Restarted(ground, head, "slurmctld"),
    ]
    if workers:
        steps += [
            Restarted(ground, workers, "slurmd"),
            Registered(ground, scope.maker, workers),
        ]
    return steps


def decommission(scope: Scope) -> Sequence[Step]:
    """Down in reverse order, everything taken off, and a probe on every machine."""
    kept = settings_of(scope.ctx.instance).packages is PackageSource.INSTALLED
    return [
        Quiet(scope.ground, "cancel"),
        *_down(scope),
        Cleaned(scope.ground, scope.ground.sites, kept_packages=kept),
        KeyRevoked(scope.maker.services),
    ]


def _down(scope: Scope) -> list[Step]:
    ground = scope.ground
    others = tuple(site for site in ground.sites if not site.controller)
    steps: list[Step] = [Stopped(ground, ground.workers, ("slurmd",))] if ground.workers else []
    steps.append(Stopped(ground, (ground.controller,), HEAD_DOWN))
    if others:
        steps.append(Stopped(ground, others, ("munge",)))
    return steps
