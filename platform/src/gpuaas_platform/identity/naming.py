"""Names of people, service accounts, tenants and projects, for whoever sees their ids.

Called by the operate room. Somebody is named to whoever could read that they belong there: to
readers of the people of a project, those with a role in it or in its tenant; to readers of the
people of a tenant, also those it manages. An address is never told.
"""

from collections.abc import Sequence

from gpuaas_contract.common import ScopeKind
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.store import naming as store
from gpuaas_platform.kernel.caller import Caller, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.naming import names_seen


async def tenants_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """Tenants the caller is at home in, or runs."""
    rows = await store.tenants_read(conn, ids)
    return {row["id"]: row["name"] for row in rows if caller.knows(Place(row["id"]))}


async def projects_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """Projects the caller may read."""
    return await names_seen(conn, caller, store.PROJECTS, ids)


async def users_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """The caller, and people who belong where the caller may read who does."""
    rows = await store.users_read(conn, ids)
    return {row["id"]: row["name"] for row in rows if _may_know(caller, row)}


async def accounts_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """The caller, and service accounts of places where the caller may read who belongs there."""
    rows = await store.accounts_read(conn, ids)
    return {row["id"]: row["name"] for row in rows if _may_know(caller, row)}


def _may_know(caller: Caller, row: Record) -> bool:
    if row["id"] == caller.id:
        return True
    home = Place(row["org_id"], row["project_id"])
    if caller.allows(Permission.PERSON_READ, home):
        return True
    return any(_belongs(caller, Place(org_id, project_id)) for org_id, project_id in row["held"])


def _belongs(caller: Caller, place: Place) -> bool:
    """Whether the caller may read who belongs to this place, or to a project of this tenant."""
    if caller.allows(Permission.PERSON_READ, place):
        return True
    if place.kind is not ScopeKind.TENANT:
        return False
    return any(
        Permission.PERSON_READ in grant.permissions and grant.place.org_id == place.org_id
        for grant in caller.grants
    )
