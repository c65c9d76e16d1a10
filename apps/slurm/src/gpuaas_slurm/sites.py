"""Who is where: the machines of an instance, each with what it is for. Pure.

A site is one allocation with the members on it. Made from what the platform says is wanted;
nothing here asks a machine.
"""

from dataclasses import dataclass

from gpuaas_sdk import PermanentFailure, Target
from gpuaas_sdk.contract import Member, MemberStatus

CONTROLLER, WORKER, LOGIN = "controller", "worker", "login"


@dataclass(frozen=True)
class Site:
    """One machine of a cluster."""

    allocation_id: str
    members: tuple[Member, ...]

    def has(self, component: str) -> bool:
        """Whether a member of this component sits here."""
        return any(member.component_key == component for member in self.members)

    @property
    def controller(self) -> bool:
        """The controller runs here."""
        return self.has(CONTROLLER)

    @property
    def worker(self) -> bool:
        """Jobs run here."""
        return self.has(WORKER)

    @property
    def set_aside(self) -> bool:
        """Nothing of it is part of the cluster any more, and it is not known to be clean."""
        return all(member.status is MemberStatus.CLEANUP_BLOCKED for member in self.members)

    @property
    def node(self) -> str:
        """What the machine was called when it was last reported; empty until then."""
        return next((member.node for member in self.members if member.node), "")

    @property
    def roles(self) -> tuple[str, ...]:
        """The components here, the controller first."""
        return tuple(key for key in (CONTROLLER, WORKER, LOGIN) if self.has(key))


def sites_of(target: Target) -> tuple[Site, ...]:
    """Every machine of the instance, the controller first."""
    grouped: dict[str, list[Member]] = {}
    for member in target.members:
        grouped.setdefault(member.allocation_id, []).append(member)
    sites = [Site(allocation_id, tuple(members)) for allocation_id, members in grouped.items()]
    return tuple(sorted(sites, key=lambda site: not site.controller))


def controller_site(target: Target) -> Site:
    """The machine the controller is on."""
    found = next((site for site in sites_of(target) if site.controller), None)
    if found is None:
        raise PermanentFailure("controller_missing", "The instance has no controller any more.")
    return found


def site_of(target: Target, member: Member) -> Site:
    """The machine of a member, with everybody on it."""
    return next(s for s in sites_of(target) if s.allocation_id == member.allocation_id)
