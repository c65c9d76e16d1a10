"""Looking: what is on the machines, what would bring them to what is wanted, how well it is.

`look` reads; `plan` and `health` are pure. Used by the runtime on schedule and by every
operation's end.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gpuaas_sdk import Facts, Look, Plan, Step, Target
from gpuaas_sdk.contract import (
    AbsenceReport,
    AppInstance,
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
from gpuaas_template.machines import Machines, Unreachable
from gpuaas_template.steps import RUNNING, STOPPED, Configure, Install, Joined, Unit

_DEFAULTS: Final = {"port": 8080, "greeting": "Hello", "request_log": True}
_OUT: Final = frozenset({MemberStatus.DRAINING, MemberStatus.DRAINED})
_SETTLED: Final = frozenset(
    {MemberStatus.READY, MemberStatus.DEGRADED, MemberStatus.DRAINED, MemberStatus.FAILED}
)


@dataclass(frozen=True)
class SeenMember:
    """What is on one member's machine. `reached` is false when it could not be asked."""

    reached: bool = False
    package: str | None = None
    config: str | None = None
    unit: str | None = None
    joined: bool = False
    files: tuple[str, ...] = ()


Seen = dict[str, SeenMember]


def config_of(instance: AppInstance) -> str:
    """The configuration file the settings ask for."""
    given = instance.settings.get("settings") or {}
    return json.dumps({**_DEFAULTS, **given}, sort_keys=True)


def looking(machines: Machines) -> Callable[[Look], Any]:
    """The observer on these machines."""

    async def look(given: Look) -> Seen:
        gateways = given.target.of("gateway")
        joined = await _joined(machines, gateways[0]) if gateways else []
        return {m.id: await _member(machines, m, joined) for m in given.target.members}

    return look


def planning(machines: Machines) -> Callable[[Target, Seen, datetime], Plan]:
    """The planner: which steps repair what drifted on machines that could be asked."""

    def plan(target: Target, seen: Seen, _: datetime) -> Plan:
        asked = [m for m in target.members if seen[m.id].reached and m.status in _SETTLED]
        instance, config = target.instance, config_of(target.instance)
        wanted = STOPPED if instance.status is InstanceStatus.STOPPED else RUNNING
        stale = [m for m in asked if seen[m.id].package != instance.app_version]
        other = [m for m in asked if seen[m.id].config != config]
        still = [m for m in asked if seen[m.id].unit != wanted]
        apart = [
            m
            for m in asked
            if m.component_key == "server" and m.status not in _OUT and not seen[m.id].joined
        ]
        steps: list[Step] = []
        if stale:
            steps.append(Install(machines, stale, instance.app_version))
        if other:
            steps.append(Configure(machines, other, config))
        if still:
            steps.append(Unit(machines, still, wanted))
        gateways = [m for m in target.of("gateway") if seen[m.id].reached]
        if apart and gateways:
            steps.append(Joined(machines, gateways[0], apart, wanted=True))
        return Plan(tuple(steps), tuple(step.title for step in steps))

    return plan


def health(target: Target, seen: Seen) -> Facts:
    """How each member and the whole are, in the platform's words and in ours."""
    words = {m.id: _word(target, m, seen[m.id]) for m in target.members}
    found = set(words.values())
    versions = {one.package for one in seen.values() if one.package is not None}
    applied = all(one.config == config_of(target.instance) for one in seen.values() if one.reached)
    summary = ", ".join(f"{list(words.values()).count(w)} {w}" for w in sorted(found))
    whole = _whole(found)
    return Facts(
        InstanceReport(
            health=whole,
            runtime_version=", ".join(sorted(versions)),
            access=_access(target),
            settings_revision=target.instance.settings_revision if applied and seen else None,
            adapter_detail=DetailReport(
                summary=summary,
                severity=Severity.INFO if whole is Health.HEALTHY else Severity.WARNING,
                detail={"members": words},
            ),
        ),
        tuple(_report(m, words[m.id], seen[m.id]) for m in target.members),
    )


_HEALTH: Final = {
    "serving": Health.HEALTHY,
    "quiet": Health.DRAINED,
    "dead": Health.FAILED,
    "silent": Health.UNREACHABLE,
}


def _word(target: Target, member: Member, seen: SeenMember) -> str:
    if not seen.reached:
        return "silent"
    stopped = target.instance.status in {InstanceStatus.STOPPED, InstanceStatus.STOPPING}
    if stopped and seen.unit != RUNNING:
        return "quiet"
    if seen.unit != RUNNING:
        return "dead"
    if member.component_key == "server" and not seen.joined:
        return "quiet"
    return "serving"


def _whole(words: set[str]) -> Health:
    if words <= {"serving", "quiet"} and "serving" in words:
        return Health.HEALTHY
    if words == {"quiet"}:
        return Health.DRAINED
    if words == {"silent"}:
        return Health.UNREACHABLE
    return Health.DEGRADED if "serving" in words else Health.FAILED


def _report(member: Member, word: str, seen: SeenMember) -> MemberReport:
    unreachable = ConditionReport(
        type="unreachable",
        reason="no_answer",
        message="The machine cannot be asked; what is on it is not known.",
        next_action="Look at the machine; it is looked at again by itself.",
    )
    return MemberReport(
        member_id=member.id,
        health=_HEALTH[word],
        conditions=[] if seen.reached else [unreachable],
        runtime_version=seen.package,
        absence=_absence(member, seen),
    )


def _absence(member: Member, seen: SeenMember) -> AbsenceReport | None:
    """A member that was given up is looked at until it is known that nothing of it is left."""
    if member.status is not MemberStatus.CLEANUP_BLOCKED or not seen.reached:
        return None
    evidence = {"files": list(seen.files)}
    return AbsenceReport(runtime_verified_absent=not seen.files, evidence=evidence)


def _access(target: Target) -> dict[str, Any]:
    gateways = target.of("gateway")
    port = json.loads(config_of(target.instance))["port"]
    url = f"http://{gateways[0].allocation_id}:{port}/" if gateways else ""
    return {"url": url, "markdown": f"Ask for a page: `curl {url}`"}


async def _member(machines: Machines, member: Member, joined: list[str]) -> SeenMember:
    async def text(name: str) -> str | None:
        return await machines.read(member.allocation_id, f"{member.component_key}/{name}")

    try:
        return SeenMember(
            reached=True,
            package=await text("package"),
            config=await text("config.json"),
            unit=await text("unit"),
            joined=member.id in joined,
            files=tuple(await machines.names(member.allocation_id, member.component_key)),
        )
    except Unreachable:
        return SeenMember()


async def _joined(machines: Machines, gateway: Member) -> list[str]:
    try:
        return await machines.names(gateway.allocation_id, "gateway/servers")
    except Unreachable:
        return []
