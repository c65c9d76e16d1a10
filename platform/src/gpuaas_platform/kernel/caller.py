"""Who is calling and what they may do, as plain data; the one place where permission is decided.

Built by the identity room from a token or session; asked by every service. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum

from gpuaas_contract.common import ScopeKind
from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.problems import Denied


class CallerKind(StrEnum):
    """What kind of identity calls."""

    USER = "user"
    SERVICE_ACCOUNT = "service_account"
    NODE = "node"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the tenancy tree: the platform, a tenant, or a project of a tenant."""

    org_id: str | None = None
    project_id: str | None = None

    @property
    def kind(self) -> ScopeKind:
        """Which level of the tree this is."""
        if self.project_id is not None:
            return ScopeKind.PROJECT
        return ScopeKind.PLATFORM if self.org_id is None else ScopeKind.TENANT


PLATFORM = Place()


@dataclass(frozen=True, slots=True)
class Grant:
    """A bundle of permission keys that holds at a place and, unless `only_here`, below it."""

    permissions: frozenset[str]
    place: Place
    only_here: bool = False

    def covers(self, place: Place) -> bool:
        """Whether `place` is this grant's place or lies below it."""
        if self.only_here:
            return self.place == place
        if self.place.project_id is not None:
            return self.place.project_id == place.project_id
        return self.place.org_id is None or self.place.org_id == place.org_id


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a caller holds one permission; stores filter lists by it."""

    everywhere: bool
    org_ids: tuple[str, ...]
    project_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated identity with everything it was granted.

    `within` is the place its token is narrowed to: what it makes for itself is narrowed to it too.
    """

    kind: CallerKind
    id: str
    home: Place
    grants: tuple[Grant, ...]
    token_id: str | None = None
    within: Place | None = None
    second_factor_due: bool = False  # signed in, and allowed nothing until a factor is set up

    def allows(self, permission: Permission, place: Place) -> bool:
        """Whether any grant gives this permission at this place."""
        return any(permission in g.permissions and g.covers(place) for g in self.grants)

    def knows(self, place: Place) -> bool:
        """Whether the caller may learn that this place exists at all."""
        if place == PLATFORM:
            return True
        return any(
            grant.covers(place) or (place.project_id is None and grant.place.org_id == place.org_id)
            for grant in self.grants
        )

    def require(self, permission: Permission, place: Place) -> None:
        """Pass, or raise `Denied`: 403 where the place is known to the caller, else 404."""
        if not self.allows(permission, place):
            raise Denied(permission, hidden=not self.knows(place))

    def reach(self, permission: Permission) -> Reach:
        """All places where this permission is held."""
        held = [g.place for g in self.grants if permission in g.permissions and not g.only_here]
        return Reach(
            everywhere=any(place == PLATFORM for place in held),
            org_ids=tuple(
                {p.org_id for p in held if p.org_id is not None and p.project_id is None}
            ),
            project_ids=tuple({p.project_id for p in held if p.project_id is not None}),
        )


SYSTEM = Caller(CallerKind.SYSTEM, "system", PLATFORM, (Grant(frozenset(Permission), PLATFORM),))
