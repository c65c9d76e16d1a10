"""Why somebody may or may not do something, for administrators who have to answer that.

Uses the same rules as every request; shows only bindings that reach the place in question.
"""

from gpuaas_contract.access import ExplainedBinding, ExplainRequest, Explanation
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import ROLES, TENANT_ONLY, Permission
from gpuaas_platform.identity.places import scope_place
from gpuaas_platform.identity.rules import role_grants, role_permissions, scope_of
from gpuaas_platform.identity.store import access, machines, people, tenancy
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Grant, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import not_found


async def authorization_explain(call: Call, asked: ExplainRequest) -> Explanation:
    """Answer for one principal, one permission and one place."""
    async with call.db.connection() as conn:
        place = await scope_place(conn, asked.scope)
        call.caller.require(Permission.AUTHORIZATION_EXPLAIN, place)
        closed = await _closed(call, conn, asked.principal_id, place)
        rows = await access.bindings_of(conn, asked.principal_id)
    now = call.platform.clock.now()
    bindings = [
        _explained(row, asked.permission, place, expired=_ended(row, now))
        for row in rows
        if Grant(frozenset(), access.place_of(row)).covers(place)
    ]
    allowed = closed is None and any(binding.decisive for binding in bindings)
    return Explanation(
        allowed=allowed,
        principal_id=asked.principal_id,
        permission=asked.permission,
        scope=scope_of(place),
        summary=closed or _summary(bindings, asked.permission),
        bindings=bindings,
        roles_that_would_do=[]
        if allowed
        else [r for r, k in ROLES.items() if asked.permission in k],
    )


async def _closed(call: Call, conn: Connection, principal_id: str, place: Place) -> str | None:
    """Why a principal cannot act at all, if so; a principal out of reach does not exist."""
    if principal_id.startswith(f"{Prefix.SERVICE_ACCOUNT}_"):
        row = await machines.account_read(conn, principal_id)
        if row is None or not call.caller.knows(access.place_of(row)):
            raise not_found("principal", principal_id)
        if not row["active"]:
            return "The service account is deactivated: it can do nothing."
        if not await tenancy.project_org(conn, row["project_id"]):
            return "The service account's project or tenant is deactivated: it can do nothing."
        return None
    row = await people.user_read(conn, principal_id)
    if row is None or not await _user_known(call, conn, row, place):
        raise not_found("principal", principal_id)
    if not row["active"]:
        return "The person is deactivated: they can do nothing."
    home = None if row["org_id"] is None else await tenancy.tenant_read(conn, row["org_id"])
    if home is not None and not home["active"]:
        return "The tenant that manages this person is deactivated: they can do nothing."
    return None


async def _user_known(call: Call, conn: Connection, row: Record, place: Place) -> bool:
    home = PLATFORM if row["org_id"] is None else Place(row["org_id"])
    if call.caller.allows(Permission.USER_READ, home) or home.org_id == place.org_id:
        return True
    held = await people.user_places(conn, row["id"])
    return any(one["org_id"] == place.org_id is not None for one in held)


def _explained(
    row: Record, permission: Permission, place: Place, *, expired: bool
) -> ExplainedBinding:
    where = access.place_of(row)
    keys = role_permissions(row["role_name"], row["permissions"])
    gives = any(
        permission in grant.permissions and grant.covers(place)
        for grant in role_grants(keys, where)
    )
    return ExplainedBinding(
        binding_id=row["id"],
        role=row["role_name"] or row["role_id"],
        role_name=row["role_title"],
        scope=scope_of(where),
        decisive=gives and not expired,
        verdict=_verdict(permission, keys, gives=gives, expired=expired),
    )


def _verdict(
    permission: Permission, keys: frozenset[Permission], *, gives: bool, expired: bool
) -> str:
    if expired:
        return "The binding has expired."
    if gives:
        return f"The role holds {permission}."
    if permission in keys and permission in TENANT_ONLY:
        return (
            f"The role holds {permission}, but a binding at the platform does not carry it into"
            " tenants; bind a role there or break the glass."
        )
    return f"The role does not hold {permission}."


def _ended(row: Record, now: object) -> bool:
    ends = row["expires_at"]
    return ends is not None and bool(ends <= now)


def _summary(bindings: list[ExplainedBinding], permission: Permission) -> str:
    decisive = [binding for binding in bindings if binding.decisive]
    if decisive:
        first = decisive[0]
        return f"Allowed by the role {first.role_name} at the {first.scope.kind} scope."
    if not bindings:
        return "No role is held there, nor above it."
    return f"None of the roles held there or above gives {permission}."
