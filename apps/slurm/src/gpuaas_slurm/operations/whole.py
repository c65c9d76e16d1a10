"""The cluster as a whole: stop, start, restart, decommission."""

from collections.abc import Callable, Sequence

from gpuaas_sdk import MachineUnreachable, Step, StepFailure
from gpuaas_sdk.contract import Operation
from gpuaas_slurm.operations.scope import Scope
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.sites import Site
from gpuaas_slurm.steps.clean import Cleaned
from gpuaas_slurm.steps.daemons import (
    Database,
    Munge,
    Restarted,
    Slurmctld,
    Slurmd,
    Slurmdbd,
    Stopped,
    TakenDown,
)
from gpuaas_slurm.steps.nodes import Registered
from gpuaas_slurm.steps.prepare import Preflight
from gpuaas_slurm.steps.quiet import Quiet
from gpuaas_slurm.steps.secret import KeyRevoked

HEAD_DOWN = ("slurmctld", "slurmdbd", "mariadb", "munge")


def stop(scope: Scope) -> Sequence[Step]:
    """Workers first, the database last; nothing starts again by itself."""
    choice = scope.ctx.operation.input.get("jobs", "refuse")
    return [Quiet(scope.ground, choice), *_down(scope, Stopped)]


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
    """Down in reverse order, everything taken off, and a probe on every machine.

    Also of what one before left: machines that could not be asked then, the controller's gone.
    """
    ground = scope.ground
    ground.sites += ground.aside
    ground.may_leave_out, ground.needs_worker = left_behind(scope.ctx.operation), False
    kept = settings_of(scope.ctx.instance).packages is PackageSource.INSTALLED
    headed = any(site.controller for site in ground.sites)
    return [
        *([Quiet(ground, "cancel")] if headed else []),
        *_down(scope, TakenDown),
        Cleaned(ground, ground.sites, kept_packages=kept),
        KeyRevoked(scope.maker.services),
    ]


def left_behind(operation: Operation) -> Callable[[Site, StepFailure], bool]:
    """A machine that cannot be asked holds up no other: once trying again did not help, the rest is
    taken down, and of this one is said that nothing is known."""
    last = operation.attempt >= operation.max_attempts
    return lambda _, failure: last and isinstance(failure, MachineUnreachable)


def _down(scope: Scope, stopped: type[Stopped]) -> list[Step]:
    ground = scope.ground
    heads = tuple(site for site in ground.sites if site.controller)
    others = tuple(site for site in ground.sites if not site.controller)
    steps: list[Step] = []
    if ground.workers:
        steps.append(stopped(ground, ground.workers, ("slurmd",)))
    if heads:
        steps.append(stopped(ground, heads, HEAD_DOWN))
    if others:
        steps.append(stopped(ground, others, ("munge",)))
    return steps
