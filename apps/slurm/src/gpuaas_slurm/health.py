"""From what was seen to what is said: states, health, conditions, details. Pure.

The words of the manifest's health vocabulary stand in the conditions' types. Nothing is reported
that was not observed; a machine that could not be asked keeps the state it had.
"""

from collections import Counter
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
from gpuaas_slurm.commands import Job, Node
from gpuaas_slurm.observe import Seen, SiteSeen, accounting_seen
from gpuaas_slurm.onmachine.look import SnapshotSeen
from gpuaas_slurm.onmachine.scripts import UNITS
from gpuaas_slurm.people import AccountingPlan, MachinePlan, machine_plan, people_detail
from gpuaas_slurm.sites import CONTROLLER, WORKER, sites_of

OURS: Final = "gpuaas:"
"""How the reasons of drains we set begin; every other drain is somebody else's."""

MOST_ROWS: Final = 100
SETTLED: Final = frozenset(
    {MemberStatus.READY, MemberStatus.DEGRADED, MemberStatus.RECONCILING, MemberStatus.FAILED}
)
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
    members = tuple(report(member, seen) for member in target.members)
    return Facts(instance_report(target, seen, members), members)


def member_report(member: Member, seen: Seen) -> MemberReport:
    """Say what is true of one member."""
    site = seen.site(member.allocation_id)
    conditions = member_conditions(member, site, seen)
    found = _member_health(member, conditions, _node(site, seen))
    if site.look is None:
        return MemberReport(member_id=member.id, health=Health.UNREACHABLE, conditions=conditions)
    return MemberReport(
        member_id=member.id,
        status=_member_status(member, found),
        health=found,
        conditions=conditions,
        adapter_detail=_member_detail(member, site, seen, conditions),
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
        found += _node_conditions(_node(site, seen))
    return found


def instance_report(
    target: Target, seen: Seen, members: tuple[MemberReport, ...]
) -> InstanceReport:
    """Say what is true of the whole."""
    found, summary = _instance_health(target, seen, members)
    stopped = _stopped(target)
    running = found in {Health.HEALTHY, Health.DRAINED}
    status = None
    if target.instance.status in OPERATED and not stopped and seen.scheduler is not None:
        status = InstanceStatus.RUNNING if running else InstanceStatus.DEGRADED
    more: dict[str, Any] = {}
    if seen.scheduler is not None:
        more["runtime_version"] = str(seen.scheduler.version)
    if seen.scheduler is not None and seen.document is not None:
        more["access"] = access_bundle(seen.document, seen.scheduler, seen.sites)
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


def instance_detail(target: Target, seen: Seen) -> dict[str, Any]:
    """Answer what one would otherwise log in for."""
    names = {
        site.allocation_id: _name(seen.site(site.allocation_id), site.allocation_id)
        for site in sites_of(target)
    }
    detail: dict[str, Any] = {
        "daemons": [
            {"machine": name, "allocation_id": allocation_id, **_units(seen.site(allocation_id))}
            for allocation_id, name in names.items()
        ][:MOST_ROWS],
    }
    if seen.document is not None:
        cluster = seen.document.cluster
        detail |= {
            "cluster": cluster.name,
            "generation": cluster.generation,
            "accounts": dict(seen.document.accounts),
            "partitions": [one.name for one in cluster.partitions],
            "containment": cluster.containment,
        }
    detail["versions"] = _versions(target, seen)
    detail |= _head_detail(target, seen)
    if seen.scheduler is None:
        detail["scheduler"] = seen.scheduler_failure
        return detail
    nodes, jobs = seen.scheduler.nodes, seen.scheduler.jobs
    return detail | {
        "scheduler": "answers",
        "nodes": [_node_row(node, jobs) for node in nodes][:MOST_ROWS],
        "nodes_by_state": dict(Counter(_state(node) for node in nodes)),
        "jobs_by_state": dict(Counter(job.state.lower() for job in jobs)),
    }


def _stopped(target: Target) -> bool:
    return target.instance.status is InstanceStatus.STOPPED


def _instance_health(
    target: Target, seen: Seen, members: tuple[MemberReport, ...]
) -> tuple[Health, str]:
    controllers = {member.id for member in target.of(CONTROLLER)}
    if _stopped(target):
        return Health.DRAINED, "Stopped: no daemon runs, configuration and accounting are kept."
    if any(r.health is Health.UNREACHABLE for r in members if r.member_id in controllers):
        return Health.UNREACHABLE, "The controller's machine cannot be asked."
    if seen.scheduler is None:
        return Health.FAILED, f"The scheduler does not answer: {seen.scheduler_failure}"
    workers = [report for report in members if report.member_id not in controllers]
    bad = [r for r in members if r.health not in {Health.HEALTHY, Health.DRAINED}]
    open_ones = sum(node.schedulable for node in seen.scheduler.nodes)
    running = sum(job.running for job in seen.scheduler.jobs)
    counts = f"{open_ones} of {len(seen.scheduler.nodes)} nodes take jobs, {running} jobs run"
    if bad:
        return Health.DEGRADED, f"{len(bad)} of {len(members)} members need attention; {counts}."
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


def _node_conditions(node: Node | None) -> list[ConditionReport]:
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
    if node.schedulable or node.draining:
        return []
    return [
        ConditionReport(
            type="node_down",
            reason=_state(node),
            message=f"The scheduler says {_state(node)}: {node.reason or 'no reason given'}.",
            next_action="Reconcile, or replace the machine.",
        )
    ]


def _member_health(member: Member, conditions: list[ConditionReport], node: Node | None) -> Health:
    kinds = {condition.type for condition in conditions}
    if "unreachable" in kinds:
        return Health.UNREACHABLE
    if kinds & {"daemon_down", "node_unknown", "node_down"}:
        return Health.FAILED if member.component_key == CONTROLLER else Health.DEGRADED
    if node is not None and node.draining and member.component_key == WORKER:
        return Health.DRAINED
    return Health.DEGRADED if kinds else Health.HEALTHY


def _member_status(member: Member, found: Health) -> MemberStatus | None:
    """Only what was settled moves between ready and degraded; a drain is its operation's word."""
    if member.status not in SETTLED:
        return None
    return (
        MemberStatus.READY if found in {Health.HEALTHY, Health.DRAINED} else MemberStatus.DEGRADED
    )


def _member_detail(
    member: Member, site: SiteSeen, seen: Seen, conditions: list[ConditionReport]
) -> DetailReport:
    node = _node(site, seen)
    summary = conditions[0].message if conditions else "All its daemons run."
    if not conditions and node is not None and member.component_key == WORKER:
        summary = f"{node.name} is {_state(node)}."
    detail: dict[str, Any] = dict(_units(site))
    if site.look is not None:
        detail["packages"] = dict(site.look.packages)
        detail["system"] = f"{site.look.system} {site.look.codename}"
    if site.record is not None:
        machine = site.record.machine
        detail["machine"] = {
            "name": machine.name,
            "address": machine.address,
            "cpus": machine.cpus,
            "memory_mib": machine.memory_mib,
            "gpus": {gpus.type: gpus.count for gpus in machine.gpus},
            "admitted": machine.admitted,
        }
    if node is not None and member.component_key == WORKER and seen.scheduler is not None:
        detail["node"] = _node_row(node, seen.scheduler.jobs)
    severity = Severity.WARNING if conditions else Severity.INFO
    return DetailReport(summary=summary[:500], severity=severity, detail=detail)


def _head_detail(target: Target, seen: Seen) -> dict[str, Any]:
    """What the controller's machine tells of people, and of the way back from an upgrade."""
    head = next((site for site in sites_of(target) if site.controller), None)
    look = None if head is None else seen.site(head.allocation_id).look
    if head is None or look is None or seen.people is None:
        return {"people": people_detail(None, MachinePlan(), AccountingPlan())}
    plan = machine_plan(seen.people, head, look)
    detail = {"people": people_detail(seen.people, plan, accounting_seen(seen, look))}
    if look.snapshot is not None:
        detail["snapshot"] = _snapshot(look.snapshot)
    return detail


def _snapshot(seen: SnapshotSeen) -> dict[str, Any]:
    """Where a rollback leads."""
    return {
        "app_version": seen.app_version,
        "packages": seen.packages,
        "generation": seen.generation,
        "taken_at": seen.taken_at.isoformat(),
        "kib": seen.kib,
    }


def _versions(target: Target, seen: Seen) -> dict[str, str]:
    """Three versions, each read where it is true."""
    look = next(
        (s.look for s in seen.sites.values() if s.look and "slurmctld" in s.look.packages), None
    )
    return {
        "app": target.instance.app_version,
        "package": "" if look is None else look.packages["slurmctld"],
        "daemon": "" if seen.scheduler is None else str(seen.scheduler.version),
    }


def _daemon_version(member: Member, site: SiteSeen, seen: Seen) -> str | None:
    if seen.scheduler is None:
        return None
    if member.component_key == CONTROLLER:
        return str(seen.scheduler.version)
    node = _node(site, seen)
    return None if node is None else node.version


def _node(site: SiteSeen, seen: Seen) -> Node | None:
    if site.record is None or seen.scheduler is None:
        return None
    return seen.scheduler.node(site.record.machine.name)


def _name(site: SiteSeen, allocation_id: str) -> str:
    return allocation_id if site.record is None else site.record.machine.name


def _units(site: SiteSeen) -> dict[str, str]:
    if site.look is None:
        return {"unreachable": site.failure[:500]}
    return {name: unit.active for name, unit in site.look.units.items() if unit.load != "not-found"}


def _state(node: Node) -> str:
    """A node's state in Slurm's words, without the flag every node of ours has."""
    flags = sorted(flag.lower() for flag in node.flags - {"DYNAMIC_NORM"})
    return "+".join([node.state.lower(), *flags])


def _node_row(node: Node, jobs: tuple[Job, ...]) -> dict[str, Any]:
    return {
        "name": node.name,
        "state": _state(node),
        "reason": node.reason,
        "reason_by": node.reason_by,
        "takes_jobs": node.schedulable,
        "cpus": f"{node.cpus_allocated}/{node.cpus}",
        "gres": node.gres,
        "version": node.version,
        "jobs": [job.id for job in jobs if job.running and job.names(node.name)][:20],
    }
