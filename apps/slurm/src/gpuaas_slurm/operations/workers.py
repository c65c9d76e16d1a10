"""Workers come and go: add, drain, resume, remove, replace."""

from collections.abc import Sequence

from gpuaas_sdk import Step, Together
from gpuaas_slurm.operations.deploy import worker_steps
from gpuaas_slurm.operations.scope import Scope
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.sites import WORKER, Site, site_of
from gpuaas_slurm.steps.clean import Cleaned
from gpuaas_slurm.steps.daemons import Stopped
from gpuaas_slurm.steps.leave import (
    Drained,
    Forgotten,
    JobsEnded,
    RecordsEnded,
    Resumed,
    StillForgotten,
)
from gpuaas_slurm.steps.people import People
from gpuaas_slurm.steps.prepare import Configure, ConfigureRest, Install, MungeKey, Preflight


def add_worker(scope: Scope) -> Sequence[Step | Together]:
    """One machine; it takes no user's job before its own test job ran."""
    return _joins(scope, scope.mine)


def drain_worker(scope: Scope) -> Sequence[Step]:
    """Closed to new jobs; those that run end in peace."""
    return _quiet(scope, scope.mine)


def resume_worker(scope: Scope) -> Sequence[Step]:
    """What we drained takes jobs again."""
    return [Resumed(scope.ground, scope.maker, scope.mine)]


def remove_worker(scope: Scope) -> Sequence[Step]:
    """Out of the scheduler first, then off the machine; also one that never came so far."""
    return _leaves(scope, scope.mine[0])


def replace_worker(scope: Scope) -> Sequence[Step | Together]:
    """The new one is ready before the old one drains."""
    new = site_of(scope.ctx.target, scope.ctx.new_member)
    return [*_joins(scope, (new,)), *_leaves(scope, scope.mine[0])]


def _joins(scope: Scope, sites: tuple[Site, ...]) -> list[Step | Together]:
    ground, maker = scope.ground, scope.maker
    return [
        Preflight(ground, maker, sites),
        Install(ground, scope.packages, sites),
        Together(
            MungeKey(ground, maker, sites),
            Configure(ground, maker, sites),
            People(ground, maker.services, sites),
        ),
        *worker_steps(scope, sites),
    ]


def _quiet(scope: Scope, sites: tuple[Site, ...]) -> list[Step]:
    return [
        Drained(scope.ground, scope.maker, sites),
        JobsEnded(scope.ground, scope.maker, sites),
    ]


def _leaves(scope: Scope, site: Site) -> list[Step]:
    ground = scope.ground
    gone = [
        *_quiet(scope, (site,)),
        RecordsEnded(ground, scope.maker, (site,)),
        Stopped(ground, (site,), ("slurmd",)),
        Forgotten(ground, scope.maker, (site,)),
    ]
    others = tuple(member for member in site.members if member.component_key != WORKER)
    if others:
        rest = (Site(site.allocation_id, others),)
        return [*gone, ConfigureRest(ground, scope.maker, rest)]
    kept = settings_of(scope.ctx.instance).packages is PackageSource.INSTALLED
    return [
        *gone,
        Cleaned(ground, (site,), kept_packages=kept),
        StillForgotten(ground, scope.maker, (site,)),
    ]
