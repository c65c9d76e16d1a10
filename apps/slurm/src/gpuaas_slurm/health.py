"""From what was seen to what is said: states, health and conditions. Pure.

The words of the manifest's health vocabulary stand in the conditions' types. Nothing is reported
that was not observed; a machine that could not be asked keeps the state it had.
"""

from typing import Any, Final

from gpuaas_sdk import Facts, Target
from gpuaas_sdk.contract import (
    ConditionReport,
    DetailReport,
    Health,
    InstanceReport,
    InstanceStatus,
    Member,
    MemberReport,
    MemberStatus,
    Severity,
)
from gpuaas_slurm.access import access_bundle
from gpuaas_slurm.commands import Node
from gpuaas_slurm.detail import instance_detail, member_detail, node_of, state_of
from gpuaas_slurm.making import renewed
from gpuaas_slurm.observe import Seen, SiteSeen
from gpuaas_slurm.onmachine.scripts import UNITS
from gpuaas_slurm.settings import settings_of
from gpuaas_slurm.sites import CONTROLLER, WORKER
from gpuaas_slurm.steps.clean import absence_of
from gpuaas_slurm.words import counted

OURS: Final = "gpuaas:"
"""How the reasons of drains we set begin; every other drain is somebody else's."""

SETTLED: Final = frozenset({MemberStatus.READY, MemberStatus.DEGRADED, MemberStatus.FAILED})
"""States that follow what is seen; every other is the word of an operation that is under way."""
OPERATED: Final = frozenset(
    {
        InstanceStatus.RUNNING,
        InstanceStatus.DEGRADED,
        InstanceStatus.DEPLOYING,
        InstanceStatus.STARTING,
        InstanceStatus.STOPPING,
        InstanceStatus.UPGRADING,
        InstanceStatus.ROLLING_BACK,
        InstanceStatus.FAILED,
    }
)
DAEMONS: Final = {
    CONTROLLER: ("munge", "mariadb", "slurmdbd", "slurmctld"),
    WORKER: ("munge", "slurmd"),
    "login": ("munge",),
}
SEVERITY: Final = {
    Health.HEALTHY: Severity.INFO,
    Health.DRAINED: Severity.INFO,
    Health.DEGRADED: Severity.WARNING,
}


def health(target: Target, seen: Seen) -> Facts:
    """Say what is true."""
    report = stopped_report if _stopped(target) else member_report
    members = tuple(
        (aside_report if member.status is MemberStatus.CLEANUP_BLOCKED else report)(member, seen)
        for member in target.members
    )
    return Facts(instance_report(target, seen, members), members)


def member_report(member: Member, seen: Seen) -> MemberReport:
    """Say what is true of one member."""
    site = seen.site(member.allocation_id)
    conditions = member_conditions(member, site, seen)
    found = _member_health(member, conditions, node_of(site, seen))
    if site.look is None:
        return MemberReport(member_id=member.id, health=Health.UNREACHABLE, conditions=conditions)
    return MemberReport(
        member_id=member.id,
        status=_member_status(member, found),
        health=found,
        conditions=conditions,
        adapter_detail=member_detail(member, site, seen, conditions),
        node=None if site.record is None else site.record.machine.name,
        runtime_version=_daemon_version(member, site, seen),
    )


def stopped_report(member: Member, seen: Seen) -> MemberReport:
    """Say what is true of a member of a cluster that was stopped: daemons are down on purpose."""
    site = seen.site(member.allocation_id)
    running = [] if site.look is None else [u for u in UNITS if site.look.unit(u).up]
    conditions = [] if site.look is not None else member_conditions(member, site, seen)
    if running:
        conditions.append(
            ConditionReport(
                type="daemon_up",
                message=f"{', '.join(running)} runs, though the cluster is stopped.",
                next_action="Start or stop the cluster.",
            )
        )
    found = Health.UNREACHABLE if site.look is None else Health.DRAINED
    return MemberReport(member_id=member.id, health=found, conditions=conditions)


def aside_report(member: Member, seen: Seen) -> MemberReport:
    """Say what is left of a member that was given up; once nothing is, that is the proof."""
    site = seen.site(member.allocation_id)
    if site.look is None or site.left is None:
        conditions = member_conditions(member, site, seen) if site.look is None else []
        return MemberReport(member_id=member.id, health=Health.UNREACHABLE, conditions=conditions)
    left = ", ".join(f"{kind} {thing}" for kind, found in site.left.items() for thing in found)
    conditions = [
        ConditionReport(
            type="left_behind",
            message=f"Something of the cluster is still there: {left}"[:2000],
            next_action="Reconcile takes it off.",
        )
    ]
    return MemberReport(
        member_id=member.id,
        health=Health.FAILED if left else Health.DRAINED,
        conditions=conditions if left else [],
        absence=absence_of(site.left),
    )


def member_conditions(member: Member, site: SiteSeen, seen: Seen) -> list[ConditionReport]:
    """Say everything that is not as it should be, what it means and what to do."""
    if site.look is None:
        return [
            ConditionReport(
                type="unreachable",
                reason="machine_unreachable",
                message=f"The machine could not be asked: {site.failure}"[:2000],
                next_action="Look at the machine and its network; nothing is assumed meanwhile.",
            )
        ]
    if member.component_key == WORKER and (site.record is None or not site.record.machine.admitted):
        return [
            ConditionReport(
                type="bootstrap_unfinished",
                message="It was left out: its bootstrap did not come to its end.",
                next_action="Its operation's steps say why. Remove it, and add it again.",
            )
        ]
    found = [
        ConditionReport(
            type="daemon_down",
            reason=unit,
            message=f"{unit} is {site.look.unit(unit).active} ({site.look.unit(unit).result}).",
            next_action="Reconcile starts it again.",
        )
        for unit in DAEMONS[member.component_key]
        if not site.look.unit(unit).up
    ]
    if abs(site.look.skew) > 60:
        text = f"Its clock is off by {site.look.skew:.0f} s; munge refuses messages at 300 s."
        found.append(
            ConditionReport(
                type="clock_skewed", message=text, next_action="Run a time service there."
            )
        )
    if member.component_key == WORKER and seen.scheduler is not None:
        found += _node_conditions(node_of(site, seen), settled=member.status in SETTLED)
    return found


def instance_report(
    target: Target, seen: Seen, members: tuple[MemberReport, ...]
) -> InstanceReport:
    """Say what is true of the whole."""
    found, summary = _instance_health(target, seen, members)
    stopped = _stopped(target) or _aside(target)
    running = found in {Health.HEALTHY, Health.DRAINED}
    status = None
    if target.instance.status in OPERATED and not stopped and seen.scheduler is not None:
        status = InstanceStatus.RUNNING if running else InstanceStatus.DEGRADED
    more: dict[str, Any] = {}
    if seen.scheduler is not None:
        more["runtime_version"] = str(seen.scheduler.version)
    if seen.scheduler is not None and seen.document is not None:
        more["access"] = access_bundle(seen.document, seen.scheduler, seen.sites)
        if renewed(seen.document, settings_of(target.instance)) == seen.document:
            more["settings_revision"] = target.instance.settings_revision
    return InstanceReport(
        status=status,
        health=found,
        conditions=_instance_conditions(seen, stopped=stopped),
        adapter_detail=DetailReport(
            summary=summary[:500],
            severity=SEVERITY.get(found, Severity.ERROR),
            detail=instance_detail(target, seen),
        ),
        **more,
    )


def _stopped(target: Target) -> bool:
    return target.instance.status is InstanceStatus.STOPPED


def _aside(target: Target) -> bool:
    return target.instance.status is InstanceStatus.CLEANUP_BLOCKED


def _instance_health(
    target: Target, seen: Seen, members: tuple[MemberReport, ...]
) -> tuple[Health, str]:
    controllers = {member.id for member in target.of(CONTROLLER)}
    if _stopped(target):
        return Health.DRAINED, "Stopped: no daemon runs, configuration and accounting are kept."
    if _aside(target):
        what = counted(len(members), "machine is", "machines are")
        return Health.FAILED, f"Given up: {what} set aside, not known to be clean."
    if any(r.health is Health.UNREACHABLE for r in members if r.member_id in controllers):
        return Health.UNREACHABLE, "The controller's machine cannot be asked."
    if seen.scheduler is None:
        return Health.FAILED, f"The scheduler does not answer: {seen.scheduler_failure}"
    workers = [report for report in members if report.member_id not in controllers]
    bad = [r for r in members if r.health not in {Health.HEALTHY, Health.DRAINED}]
    open_ones = sum(node.schedulable for node in seen.scheduler.nodes)
    running = sum(job.running for job in seen.scheduler.jobs)
    nodes = counted(len(seen.scheduler.nodes), "node takes jobs", "nodes take jobs")
    counts = f"{open_ones} of {nodes}, {counted(running, 'job runs', 'jobs run')}"
    if bad:
        need = counted(len(members), "member needs attention", "members need attention")
        return Health.DEGRADED, f"{len(bad)} of {need}; {counts}."
    if not workers:
        return Health.HEALTHY, "The controller answers; it has no workers yet."
    return Health.HEALTHY, f"{counts}."


def _instance_conditions(seen: Seen, *, stopped: bool) -> list[ConditionReport]:
    if stopped or seen.scheduler is not None:
        return []
    return [
        ConditionReport(
            type="scheduler_silent",
            message=f"The scheduler does not answer: {seen.scheduler_failure}"[:2000],
            next_action="Reconcile; if that fails, look at the controller's machine.",
        )
    ]


def _node_conditions(node: Node | None, *, settled: bool) -> list[ConditionReport]:
    if node is None:
        return [
            ConditionReport(
                type="node_unknown",
                message="The scheduler does not know this node.",
                next_action="Reconcile has it register again.",
            )
        ]
    if node.draining and not node.reason.startswith(OURS):
        return [
            ConditionReport(
                type="drained_elsewhere",
                reason=node.reason_by[:500],
                message=f"Drained by {node.reason_by or 'somebody'}: {node.reason or 'no reason'}.",
                next_action="Left alone: whoever drained it resumes it with scontrol.",
            )
        ]
    if node.draining and settled:
        return [
            ConditionReport(
                type="drain_unfinished",
                reason=node.reason[:500],
                message="It takes no new job: an operation closed it and did not come to its end.",
                next_action="Resume it, or ask again for what closed it.",
            )
        ]
    if node.schedulable or node.draining:
        return []
    return [
        ConditionReport(
            type="node_down",
            reason=state_of(node),
            message=f"The scheduler says {state_of(node)}: {node.reason or 'no reason given'}.",
            next_action="Reconcile, or replace the machine.",
        )
    ]


def _member_health(member: Member, conditions: list[ConditionReport], node: Node | None) -> Health:
    kinds = {condition.type for condition in conditions}
    if "unreachable" in kinds:
        return Health.UNREACHABLE
    if "bootstrap_unfinished" in kinds:
        return Health.FAILED
    if kinds & {"daemon_down", "node_unknown", "node_down", "drain_unfinished"}:
        return Health.FAILED if member.component_key == CONTROLLER else Health.DEGRADED
    if node is not None and node.draining and member.component_key == WORKER:
        return Health.DRAINED
    return Health.DEGRADED if kinds else Health.HEALTHY


def _member_status(member: Member, found: Health) -> MemberStatus | None:
    """Only what was settled moves between ready and degraded; a drain is its operation's word."""
    if member.status not in SETTLED:
        return None
    if member.status is MemberStatus.FAILED and found is Health.FAILED:
        return None
    return (
        MemberStatus.READY if found in {Health.HEALTHY, Health.DRAINED} else MemberStatus.DEGRADED
    )


def _daemon_version(member: Member, site: SiteSeen, seen: Seen) -> str | None:
    if seen.scheduler is None:
        return None
    if member.component_key == CONTROLLER:
        return str(seen.scheduler.version)
    node = node_of(site, seen)
    return None if node is None else node.version
