"""The identity room as the rooms above see it: places, service accounts and people by id.

Everything here takes a connection, so that a room reads it inside its own transaction.
"""

from dataclasses import dataclass

from gpuaas_platform.identity.places import project_place, scope_place, tenant_place
from gpuaas_platform.identity.store import access, machines, people, tenancy
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import not_found

__all__ = [
    "PersonFacts",
    "ServiceAccountFacts",
    "person_facts",
    "posix_name",
    "project_place",
    "scope_place",
    "service_account_facts",
    "tenant_name",
    "tenant_place",
]


@dataclass(frozen=True)
class ServiceAccountFacts:
    """A service account: where it acts, what is sealed to it, which roles it holds there."""

    id: str
    place: Place
    name: str
    active: bool
    public_key: bytes | None
    roles: tuple[str, ...]


@dataclass(frozen=True)
class PersonFacts:
    """A person, with the number apps make accounts on machines from."""

    id: str
    number: int
    email: str
    display_name: str
    active: bool


async def service_account_facts(conn: Connection, account_id: str) -> ServiceAccountFacts | None:
    """A service account, or None when there is no such."""
    row = await machines.account_read(conn, account_id)
    if row is None:
        return None
    return ServiceAccountFacts(
        id=row["id"],
        place=access.place_of(row),
        name=row["name"],
        active=row["active"],
        public_key=row["public_key"],
        roles=tuple(row["roles"]),
    )


async def person_facts(conn: Connection, user_id: str) -> PersonFacts | None:
    """A person, or None when there is no such."""
    row = await people.user_read(conn, user_id)
    if row is None:
        return None
    return PersonFacts(
        id=row["id"],
        number=row["number"],
        email=row["email"],
        display_name=row["display_name"],
        active=row["active"],
    )


async def posix_name(conn: Connection, user_id: str) -> str | None:
    """What a person is called on machines; None when there is no such person."""
    return await people.posix_name(conn, user_id)


async def tenant_name(conn: Connection, org_id: str) -> str:
    """What a tenant is called; a name never changes."""
    row = await tenancy.tenant_read(conn, org_id)
    if row is None:
        raise not_found("tenant", org_id)
    return str(row["name"])
