"""Who may do what, as pure rules: from bindings to grants, and who may hand out which.

Called by the authenticator and the identity services. The one decision whether a caller may do
something is the kernel's (`Caller.allows`); this prepares it and guards how grants spread.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from gpuaas_contract.common import Scope
from gpuaas_contract.permissions import ROLES, TENANT_ONLY, Permission, RoleName
from gpuaas_platform.kernel.caller import PLATFORM, Caller, Grant, Place
from gpuaas_platform.kernel.problems import Denied

_KEYS = frozenset(Permission)


class Escalation(Denied):
    """Somebody tried to hand out, or to act with, more than they hold themselves."""

    def __init__(self, permission: str, detail: str) -> None:
        super().__init__(permission, hidden=False)
        self.detail = detail


def role_permissions(name: str | None, custom: Iterable[str] | None) -> frozenset[Permission]:
    """The keys of a built-in role, or of a custom one; keys of another release are not ours."""
    if name is not None:
        return ROLES[RoleName(name)]
    return frozenset(Permission(key) for key in custom or () if key in _KEYS)


@lru_cache(maxsize=4096)
def role_grants(permissions: frozenset[Permission], place: Place) -> tuple[Grant, ...]:
    """What a role gives at a place. At the platform, tenant-only keys do not reach down."""
    if place != PLATFORM:
        return (Grant(permissions, place),)
    return (
        Grant(permissions - TENANT_ONLY, PLATFORM),
        Grant(permissions & TENANT_ONLY, PLATFORM, only_here=True),
    )


def grants_narrowed(
    grants: Iterable[Grant], permissions: Sequence[str] | None, place: Place | None
) -> tuple[Grant, ...]:
    """Grants cut down to some keys and to one place and what lies below it."""
    keys = None if permissions is None else frozenset(permissions)
    kept = []
    for grant in grants:
        held = grant.permissions if keys is None else grant.permissions & keys
        where = _place_narrowed(grant, place)
        if held and where is not None:
            kept.append(Grant(held, where, grant.only_here))
    return tuple(kept)


def _place_narrowed(grant: Grant, place: Place | None) -> Place | None:
    if place is None:
        return grant.place
    if grant.covers(place):
        return place
    return grant.place if Grant(frozenset(), place).covers(grant.place) else None


def missing_to_grant(
    caller: Caller, permissions: Iterable[Permission], place: Place
) -> list[Permission]:
    """Keys the caller may not hand out at a place: those they do not hold there.

    Who may break glass could take a tenant's keys at any time, and may therefore hand them to
    others (never to themselves: that is what break-glass is for).
    """
    glass = place != PLATFORM and caller.allows(Permission.BREAK_GLASS, PLATFORM)
    return sorted(
        key
        for key in permissions
        if not caller.allows(key, place) and not (glass and key in TENANT_ONLY)
    )


def grant_require(caller: Caller, permissions: Iterable[Permission], place: Place) -> None:
    """Refuse to let somebody hand out a role that holds more than they do."""
    missing = missing_to_grant(caller, permissions, place)
    if missing:
        raise Escalation(
            missing[0],
            f"Nobody grants what they do not hold: you lack {_listed(missing)} there.",
        )


def hold_require(caller: Caller, permissions: Iterable[Permission], place: Place | None) -> None:
    """Refuse keys the caller does not hold at a place (or anywhere, without a place)."""
    for key in permissions:
        if place is None:
            held = any(key in grant.permissions for grant in caller.grants)
        else:
            held = caller.allows(key, place)
        if not held:
            raise Escalation(key, f"You do not hold {key} there yourself.")


def stand_in_require(caller: Caller, held: Iterable[Grant]) -> None:
    """Refuse to let somebody make credentials for an identity that may do more than they may."""
    missing = sorted(
        {
            key
            for grant in held
            for key in grant.permissions
            if not caller.allows(Permission(key), grant.place)
        }
    )
    if missing:
        raise Escalation(
            missing[0],
            "Credentials for somebody who may do more than you would let you act as them:"
            f" you lack {_listed(missing)}.",
        )


def scope_of(place: Place) -> Scope:
    """A place as the contract writes it."""
    return Scope(kind=place.kind, org_id=place.org_id, project_id=place.project_id)


def _listed(keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:3])
    return shown if len(keys) <= 3 else f"{shown} and {len(keys) - 3} more"
