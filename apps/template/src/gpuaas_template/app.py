"""The app: which steps each kind of operation is made of. Read this first.

`template_app(machines)` is all the runtime needs. Each procedure looks at what it was asked for
and lists its steps; what is true at the end is looked at, never remembered.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version

from gpuaas_sdk import App, Context, Facts, Procedure, Step
from gpuaas_sdk.contract import AbsenceReport, Member, MemberReport, MemberStatus
from gpuaas_template.machines import Machines, Unreachable
from gpuaas_template.observe import Seen, config_of, health, looking, planning
from gpuaas_template.steps import (
    RUNNING,
    STOPPED,
    Answers,
    Configure,
    Install,
    Joined,
    Preflight,
    Uninstall,
    Unit,
)

Steps = Callable[[Machines, Context], Sequence[Step]]


def template_app(machines: Machines, slug: str = "template") -> App[Seen]:
    """The app on these machines."""
    look = looking(machines)

    def procedure(steps: Steps, *, removes: bool = False) -> Procedure:
        async def load(ctx: Context) -> Sequence[Step]:
            return steps(machines, ctx)

        async def seen(ctx: Context) -> Facts:
            return health(ctx.target, await look(ctx.look))

        async def gone(ctx: Context) -> Facts:
            whole = ctx.operation.member_id is None
            members = ctx.members if whole else (ctx.member,)
            return Facts(members=tuple([await _gone(machines, one) for one in members]))

        return Procedure(load, gone if removes else seen)

    return App(
        slug=slug,
        version=version("gpuaas-template"),
        operations={
            "deploy": procedure(_deploy),
            "add_server": procedure(_add),
            "drain_server": procedure(_drain),
            "resume_server": procedure(_resume),
            "remove_server": procedure(_remove, removes=True),
            "stop": procedure(_stop),
            "start": procedure(_start),
            "upgrade": procedure(_change_version),
            "rollback": procedure(_change_version),
            "decommission": procedure(_decommission, removes=True),
        },
        observe=look,
        plan=planning(machines),
        health=health,
    )


def _deploy(machines: Machines, ctx: Context) -> Sequence[Step]:
    members = ctx.members
    return [
        Preflight(machines, members),
        Install(machines, members, ctx.instance.app_version),
        Configure(machines, members, config_of(ctx.instance)),
        Unit(machines, members, RUNNING),
        Joined(machines, _gateway(ctx), ctx.target.of("server"), wanted=True),
        Answers(machines, members),
    ]


def _add(machines: Machines, ctx: Context) -> Sequence[Step]:
    mine = [ctx.member]
    return [
        Preflight(machines, mine),
        Install(machines, mine, ctx.instance.app_version),
        Configure(machines, mine, config_of(ctx.instance)),
        Unit(machines, mine, RUNNING),
        Joined(machines, _gateway(ctx), mine, wanted=True),
        Answers(machines, mine),
    ]


def _drain(machines: Machines, ctx: Context) -> Sequence[Step]:
    return [Joined(machines, _gateway(ctx), [ctx.member], wanted=False)]


def _resume(machines: Machines, ctx: Context) -> Sequence[Step]:
    mine = [ctx.member]
    return [
        Unit(machines, mine, RUNNING),
        Joined(machines, _gateway(ctx), mine, wanted=True),
        Answers(machines, mine),
    ]


def _remove(machines: Machines, ctx: Context) -> Sequence[Step]:
    mine = [ctx.member]
    return [
        Joined(machines, _gateway(ctx), mine, wanted=False),
        Unit(machines, mine, STOPPED),
        Uninstall(machines, mine),
    ]


def _stop(machines: Machines, ctx: Context) -> Sequence[Step]:
    return [Unit(machines, ctx.members, STOPPED)]


def _start(machines: Machines, ctx: Context) -> Sequence[Step]:
    return [Unit(machines, ctx.members, RUNNING), Answers(machines, ctx.members)]


def _change_version(machines: Machines, ctx: Context) -> Sequence[Step]:
    wanted = ctx.operation.target_version or ctx.instance.app_version
    return [
        Preflight(machines, ctx.members),
        Install(machines, (*ctx.target.of("server"), _gateway(ctx)), wanted),
        Configure(machines, ctx.members, config_of(ctx.instance)),
        Unit(machines, ctx.members, RUNNING),
        Answers(machines, ctx.members),
    ]


def _decommission(machines: Machines, ctx: Context) -> Sequence[Step]:
    return [Unit(machines, ctx.members, STOPPED), Uninstall(machines, ctx.members)]


def _gateway(ctx: Context) -> Member:
    gateways = ctx.target.of("gateway")
    return ctx.target.member(gateways[0].id if gateways else None)


async def _gone(machines: Machines, member: Member) -> MemberReport:
    """What was looked at, and whether nothing was found. Not asked is not absent."""
    try:
        left = await machines.names(member.allocation_id, member.component_key)
    except Unreachable as error:
        evidence = {"unreachable": str(error)}
        absence = AbsenceReport(runtime_verified_absent=False, evidence=evidence)
        return MemberReport(
            member_id=member.id, status=MemberStatus.CLEANUP_BLOCKED, absence=absence
        )
    absence = AbsenceReport(runtime_verified_absent=not left, evidence={"files": left})
    status = MemberStatus.CLEANUP_BLOCKED if left else MemberStatus.REMOVED
    return MemberReport(member_id=member.id, status=status, absence=absence)
