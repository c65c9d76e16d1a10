"""The app: which steps each kind of operation is made of. Read this first.

`slurm_app(services)` is all the runtime needs. Each operation's list of steps is made in a module
of `operations/`; what is true at the end is looked at, never remembered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version

from gpuaas_sdk import App, Context, Facts, Procedure, Step, Target, Together
from gpuaas_sdk.contract import (
    DetailReport,
    Health,
    InstanceReport,
    InstanceStatus,
    MemberStatus,
    Severity,
)
from gpuaas_slurm.health import health
from gpuaas_slurm.observe import Seen, cluster_seen, everything_seen, observing
from gpuaas_slurm.operations.deploy import deploy
from gpuaas_slurm.operations.scope import Scope, scope_of
from gpuaas_slurm.operations.upgrade import rollback, upgrade
from gpuaas_slurm.operations.whole import decommission, restart, start, stop
from gpuaas_slurm.operations.workers import (
    add_worker,
    drain_worker,
    remove_worker,
    replace_worker,
    resume_worker,
)
from gpuaas_slurm.plan import planning, repairs
from gpuaas_slurm.services import Services
from gpuaas_slurm.steps.clean import absence_report, retired_report
from gpuaas_slurm.steps.nodes import RELEASE
from gpuaas_slurm.words import counted

SLUG = "slurm"

Steps = Callable[[Scope], Sequence[Step | Together]]
Finish = Callable[[Context], Awaitable[Facts]]


def slurm_app(services: Services, slug: str = SLUG) -> App[Seen]:
    """The app, with what it asks of the platform."""
    running = _seen_as(InstanceStatus.RUNNING, services)
    drained = _seen_as(InstanceStatus.RUNNING, services, MemberStatus.DRAINED)
    open_again = _seen_as(InstanceStatus.RUNNING, services, MemberStatus.READY)

    def procedure(steps: Steps, finish: Finish = running) -> Procedure:
        async def load(ctx: Context) -> Sequence[Step | Together]:
            return steps(scope_of(services, ctx))

        return Procedure(load, finish)

    return App(
        slug=slug,
        version=version("gpuaas-slurm"),
        operations={
            "deploy": procedure(deploy, _deployed(running)),
            "add_worker": procedure(add_worker),
            "drain_worker": procedure(drain_worker, drained),
            "resume_worker": procedure(resume_worker, open_again),
            "remove_worker": procedure(remove_worker, _removed),
            "replace_worker": procedure(replace_worker, _removed),
            "stop": procedure(stop, _seen_as(InstanceStatus.STOPPED, services)),
            "start": procedure(start),
            "restart": procedure(restart),
            "upgrade": procedure(upgrade),
            "rollback": procedure(rollback),
            "reconcile": Procedure(_repairing(services), running),
            "decommission": procedure(decommission, _gone),
        },
        observe=observing(services),
        plan=planning(services),
        health=health,
        self_heal=True,
    )


def _repairing(services: Services) -> Callable[[Context], Awaitable[Sequence[Step]]]:
    """A reconcile somebody asked for repairs now, whatever failed a moment ago."""

    async def load(ctx: Context) -> Sequence[Step]:
        seen = await everything_seen(services, ctx.machines, ctx.target)
        plan = repairs(services, ctx.target, seen)
        if plan.converged:
            ctx.kept["seen"] = seen  # nothing will be changed: it stays true
        return plan.steps

    return load


def _seen_as(
    status: InstanceStatus, services: Services, member: MemberStatus | None = None
) -> Finish:
    """What is true now, by looking at a cluster (and the operation's member) in such a state."""

    async def finish(ctx: Context) -> Facts:
        # What the operation leads to is true when it ends, which is when this is told.
        version = ctx.operation.target_version or ctx.instance.app_version
        release = ctx.instance.runtime_version or ctx.kept.get(RELEASE, "")
        aside = ctx.instance.status is InstanceStatus.CLEANUP_BLOCKED
        become = ctx.instance.model_copy(
            update={
                "status": ctx.instance.status if aside else status,
                "app_version": version,
                "runtime_version": release,
            }
        )
        own = {} if member is None else {ctx.operation.member_id: {"status": member}}
        members = tuple(one.model_copy(update=own.get(one.id)) for one in ctx.members)
        wanted = Target(become, members)
        seen = ctx.kept.get("seen")
        if not isinstance(seen, Seen):
            seen = await everything_seen(services, ctx.machines, wanted)
        facts = health(wanted, seen)
        # One that is open again is as it is seen: a failure before may have left another word.
        return facts if member is MemberStatus.READY else _others(ctx, facts)

    return finish


def _deployed(running: Finish) -> Finish:
    """The same after a deploy: a worker that was left out is not called ready."""
    good = {Health.HEALTHY, Health.DRAINED}

    async def finish(ctx: Context) -> Facts:
        facts = await running(ctx)
        members = tuple(
            one.model_copy(update={"status": None if one.health in good else MemberStatus.DEGRADED})
            for one in facts.members
        )
        return Facts(facts.instance, members)

    return finish


def _others(ctx: Context, facts: Facts) -> Facts:
    """The same without the state of the operation's own member: the operation's end says that."""
    own = {ctx.operation.member_id, ctx.operation.new_member_id}
    members = tuple(
        one.model_copy(update={"status": None}) if one.member_id in own else one
        for one in facts.members
    )
    return Facts(facts.instance, members)


async def _removed(ctx: Context) -> Facts:
    """What is true of the cluster without the member, and the proof that it is gone."""
    member = ctx.member
    rest = Target(ctx.instance, tuple(one for one in ctx.members if one.id != member.id))
    facts = _others(ctx, health(rest, await cluster_seen(ctx.machines, rest)))
    shared = any(one.allocation_id == member.allocation_id for one in rest.members)
    gone = await (retired_report(ctx, member) if shared else absence_report(ctx, member))
    return Facts(facts.instance, (*facts.members, gone))


async def _gone(ctx: Context) -> Facts:
    """The proof, machine by machine, that nothing is left."""
    reports = await asyncio.gather(*(absence_report(ctx, member) for member in ctx.members))
    absent = [one for one in reports if one.absence and one.absence.runtime_verified_absent]
    whole = len(absent) == len(reports)
    members = counted(len(reports), "member")
    summary = f"Decommissioned: nothing is left of {len(absent)} of {members}."
    severity = Severity.INFO if whole else Severity.ERROR
    instance = InstanceReport(
        health=Health.DRAINED if whole else Health.FAILED,
        conditions=[],
        adapter_detail=DetailReport(summary=summary, severity=severity),
    )
    return Facts(instance, tuple(reports))
