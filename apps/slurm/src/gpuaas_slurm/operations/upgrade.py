"""Upgrade and rollback: other packages under the same cluster, and the snapshot that leads back."""

from collections.abc import Sequence
from dataclasses import replace

from gpuaas_sdk import Step
from gpuaas_slurm.operations.scope import Scope
from gpuaas_slurm.steps.daemons import Database, Restarted, Slurmctld, Slurmd, Slurmdbd
from gpuaas_slurm.steps.nodes import Admitted, Registered
from gpuaas_slurm.steps.prepare import Configure, ConfigureElsewhere, Preflight
from gpuaas_slurm.steps.upgrade import (
    DownForRestore,
    Examined,
    Offered,
    Packaged,
    PackagedBack,
    QuietForRestore,
    Restored,
    Snapshot,
    Verified,
)


def upgrade(scope: Scope) -> Sequence[Step]:
    """Accounting first, then the controller, then workers: each understands those still older.

    Jobs live on: what runs them is not restarted. The scheduler is away from the snapshot until
    its machine has the new packages.
    """
    ground = scope.ground
    maker = replace(scope.maker, renew=True, rebuild=True)
    head, workers = (ground.controller,), ground.workers
    others = tuple(site for site in ground.sites if not site.controller)
    steps: list[Step] = [
        Preflight(ground, scope.maker, ground.sites),
        Offered(ground, scope.packages, ground.sites),
        Examined(ground),
        Snapshot(ground, head),
        Packaged(ground, head, where="controller"),
        Configure(ground, maker, head),
        Database(ground, head),
        Slurmdbd(ground, head),
        Slurmctld(ground, head),
    ]
    if others:
        steps += [
            Packaged(ground, others, where="workers"),
            ConfigureElsewhere(ground, maker, others),
        ]
    if workers:
        steps += [Restarted(ground, workers, "slurmd"), Registered(ground, maker, workers)]
    return [*steps, Verified(ground)]


def rollback(scope: Scope) -> Sequence[Step]:
    """Back to the snapshot; refused before anything is touched where that cannot be."""
    ground, maker = scope.ground, scope.maker
    head, workers, sites = (ground.controller,), ground.workers, ground.sites
    choice = scope.ctx.operation.input.get("jobs", "refuse")
    steps: list[Step] = [Examined(ground, back=True), QuietForRestore(ground, choice)]
    if workers:
        steps.append(DownForRestore(ground, workers, ("slurmd",)))
    steps += [
        DownForRestore(ground, head, ("slurmctld", "slurmdbd")),
        PackagedBack(ground, sites, where="before"),
        Restored(ground, head),
        Configure(ground, maker, sites),
        Database(ground, head),
        Slurmdbd(ground, head),
        Slurmctld(ground, head),
    ]
    if workers:
        steps += [
            Slurmd(ground, workers),
            Registered(ground, maker, workers),
            Admitted(ground, maker, workers),
        ]
    return [*steps, Verified(ground)]
