"""The caller as the platform sees them: what they hold, and what that lets them do."""

from collections import defaultdict

from gpuaas_contract.access import (
    BindingSource,
    EffectivePermissions,
    HeldRole,
    NamedScope,
    Whoami,
)
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.rules import scope_of
from gpuaas_platform.identity.store import access, machines, people, tenancy
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Caller, CallerKind, Place
from gpuaas_platform.kernel.database import Connection, Record


async def whoami(call: Call) -> Whoami:
    """Who calls, with roles as bound and permissions as they hold for this very token."""
    caller = call.caller
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        email, display_name = await _named(conn, caller)
        rows = await access.bindings_of(conn, caller.id)
        rows = [row for row in rows if row["expires_at"] is None or row["expires_at"] > now]
        names = await tenancy.names(
            conn,
            sorted({row["org_id"] for row in rows if row["org_id"]}),
            sorted({row["project_id"] for row in rows if row["project_id"]}),
        )
    return Whoami(
        id=caller.id,
        kind=caller.kind,
        email=email,
        display_name=display_name,
        home=scope_of(caller.home),
        token_id=caller.token_id,
        second_factor_due=caller.second_factor_due,
        bindings=[_held(row, names) for row in rows],
        permissions=_effective(caller),
    )


async def _named(conn: Connection, caller: Caller) -> tuple[str | None, str | None]:
    if caller.kind is CallerKind.USER:
        row = await people.user_read(conn, caller.id)
        return (None, None) if row is None else (row["email"], row["display_name"])
    if caller.kind is CallerKind.SERVICE_ACCOUNT:
        row = await machines.account_read(conn, caller.id)
        return None, None if row is None else row["display_name"]
    return None, None


def _held(row: Record, names: dict[str, str]) -> HeldRole:
    place = access.place_of(row)
    return HeldRole(
        binding_id=row["id"],
        role=row["role_name"] or row["role_id"],
        role_name=row["role_title"],
        scope=NamedScope(
            **scope_of(place).model_dump(),
            org_name=names.get(place.org_id or ""),
            project_name=names.get(place.project_id or ""),
        ),
        source=BindingSource(row["source"]),
        expires_at=row["expires_at"],
    )


def _effective(caller: Caller) -> list[EffectivePermissions]:
    """Keys by place: several roles at one place are one set."""
    held: defaultdict[tuple[Place, bool], set[str]] = defaultdict(set)
    for grant in caller.grants:
        held[grant.place, grant.only_here] |= grant.permissions
    return [
        EffectivePermissions(
            scope=scope_of(place),
            only_here=only_here,
            permissions=[key for key in Permission if key in keys],
        )
        for (place, only_here), keys in held.items()
        if keys
    ]
