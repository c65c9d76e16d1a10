"""What one would otherwise log in for: the adapter detail of an instance and its members. Pure."""

from collections import Counter
from typing import Any, Final

from gpuaas_sdk import Target
from gpuaas_sdk.contract import ConditionReport, DetailReport, Member, Severity
from gpuaas_slurm.commands import Job, Node
from gpuaas_slurm.observe import Seen, SiteSeen, accounting_seen
from gpuaas_slurm.onmachine.look import SnapshotSeen
from gpuaas_slurm.people import AccountingPlan, MachinePlan, machine_plan, people_detail
from gpuaas_slurm.sites import WORKER, sites_of

MOST_ROWS: Final = 100
NO_JOBS: Final = dict.fromkeys(("running", "pending", "completed", "failed"), 0)
"""What the panel counts: of a scheduler that answers without a job it is known that it has none."""


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
        "nodes_by_state": dict(Counter(state_of(node) for node in nodes)),
        "jobs_by_state": NO_JOBS | Counter(job.state.lower() for job in jobs),
    }


def member_detail(
    member: Member, site: SiteSeen, seen: Seen, conditions: list[ConditionReport]
) -> DetailReport:
    node = node_of(site, seen)
    summary = conditions[0].message if conditions else "All its daemons run."
    if not conditions and node is not None and member.component_key == WORKER:
        summary = f"{node.name} is {state_of(node)}."
    detail: dict[str, Any] = dict(_units(site))
    if site.look is not None:
        detail["packages"] = dict(site.look.packages)
        detail["system"] = f"{site.look.system} {site.look.codename}"
        detail["processes_of_others"] = site.look.processes
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


def node_of(site: SiteSeen, seen: Seen) -> Node | None:
    """The node a machine is in the scheduler's eyes; None where it has none, or was not asked."""
    if site.record is None or seen.scheduler is None:
        return None
    return seen.scheduler.node(site.record.machine.name)


def state_of(node: Node) -> str:
    """A node's state in Slurm's words, without the flag every node of ours has."""
    flags = sorted(flag.lower() for flag in node.flags - {"DYNAMIC_NORM"})
    return "+".join([node.state.lower(), *flags])


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


def _name(site: SiteSeen, allocation_id: str) -> str:
    return allocation_id if site.record is None else site.record.machine.name


def _units(site: SiteSeen) -> dict[str, str]:
    if site.look is None:
        return {"unreachable": site.failure[:500]}
    return {name: unit.active for name, unit in site.look.units.items() if unit.load != "not-found"}


def _node_row(node: Node, jobs: tuple[Job, ...]) -> dict[str, Any]:
    return {
        "name": node.name,
        "state": state_of(node),
        "reason": node.reason,
        "reason_by": node.reason_by,
        "takes_jobs": node.schedulable,
        "cpus": f"{node.cpus_allocated}/{node.cpus}",
        "gres": node.gres,
        "version": node.version,
        "jobs": [job.id for job in jobs if job.running and job.names(node.name)][:20],
    }
