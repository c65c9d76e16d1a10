"""Deploy: from bare machines to a cluster whose test job ran on every worker."""

from collections.abc import Callable, Sequence

from gpuaas_sdk import Step, StepFailure, TemporaryFailure, Together
from gpuaas_sdk.contract import Operation
from gpuaas_slurm.operations.scope import Scope
from gpuaas_slurm.sites import Site
from gpuaas_slurm.steps.accounts import Accounts
from gpuaas_slurm.steps.daemons import Database, Slurmctld, Slurmd, Slurmdbd
from gpuaas_slurm.steps.nodes import Admitted, Registered, Trial
from gpuaas_slurm.steps.people import People, PeopleElsewhere
from gpuaas_slurm.steps.prepare import (
    Configure,
    ConfigureElsewhere,
    Install,
    MungeKey,
    Preflight,
)


def deploy(scope: Scope) -> Sequence[Step | Together]:
    """All machines of the instance at once; the order is that in which daemons need each other.

    Accounting, its tree and the project's people are there before the controller answers for the
    first time, so that no job can ever meet a missing account.
    """
    ground, maker = scope.ground, scope.maker
    ground.may_leave_out = leaving_out(scope.ctx.operation)
    sites, head, workers = ground.sites, (ground.controller,), ground.workers
    others = tuple(site for site in sites if not site.controller)
    return [
        Preflight(ground, maker, sites),
        Install(ground, scope.packages, sites),
        Together(
            [Configure(ground, maker, head, started_next=True), Database(ground, head)],
            MungeKey(ground, maker, sites),
            ConfigureElsewhere(ground, maker, others),
        ),
        Together(
            [Slurmdbd(ground, head), Accounts(ground)],
            PeopleElsewhere(ground, maker.services, others),
        ),
        People(ground, maker.services, head),
        Slurmctld(ground, head),
        *worker_steps(scope, workers),
    ]


def leaving_out(operation: Operation) -> Callable[[Site, StepFailure], bool]:
    """One bad worker holds up no other: it is left out, once trying again did not help."""
    last = operation.attempt >= operation.max_attempts

    def leaving(site: Site, failure: StepFailure) -> bool:
        passing = isinstance(failure, TemporaryFailure)
        return not site.controller and (last or not passing)

    return leaving


def worker_steps(scope: Scope, workers: Sequence[Site]) -> list[Step]:
    """From configured machines to nodes users' jobs run on."""
    if not workers:
        return []
    ground, maker, sites = scope.ground, scope.maker, tuple(workers)
    return [
        Slurmd(ground, sites),
        Registered(ground, maker, sites),
        Trial(ground, maker, sites),
        Admitted(ground, maker, sites),
    ]
