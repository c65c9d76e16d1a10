"""Rules of roles: the built-in ones, and a tenant's own bundles of permission keys."""

from dataclasses import dataclass

from gpuaas_contract.access import PermissionInfo, Role, RoleCreate, RoleUpdate
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permission_texts import PERMISSION_TEXTS, ROLE_TEXTS
from gpuaas_contract.permissions import ROLES, TENANT_ONLY, Permission, RoleName
from gpuaas_platform.identity.places import tenant_place
from gpuaas_platform.identity.rules import grant_require, role_permissions
from gpuaas_platform.identity.store import access as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Caller, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work


@dataclass(frozen=True)
class KnownRole:
    """A role that can be held: how a binding names it, and its keys now."""

    ref: store.RoleRef
    title: str
    permissions: frozenset[Permission]


def permission_list() -> list[PermissionInfo]:
    """Every permission key there is."""
    return [
        PermissionInfo(key=key, description=PERMISSION_TEXTS[key], tenant_only=key in TENANT_ONLY)
        for key in Permission
    ]


async def role_find(conn: Connection, role: str, place: Place) -> KnownRole:
    """The role a request names, as it may be held at a place; it stays so until the commit."""
    if role in ROLES:
        name = RoleName(role)
        return KnownRole(store.RoleRef(name, None), name, ROLES[name])
    row = await store.role_hold(conn, role)
    if row is None or row["org_id"] != place.org_id:
        raise invalid("/role", f"there is no role {role} here")
    keys = role_permissions(None, row["permissions"])
    return KnownRole(store.RoleRef(None, role), row["name"], keys)


async def role_create(org_id: str, given: RoleCreate, work: Work) -> Answer[Role]:
    """A role of a tenant's own, of keys its maker holds there."""
    place = await tenant_place(work.conn, org_id)
    work.require(Permission.ROLE_MANAGE, place)
    if given.name in ROLES:
        raise PlatformError(ErrorCode.NAME_TAKEN, f"{given.name} is a built-in role.")
    keys = _checked(given.permissions)
    grant_require(work.call.caller, keys, place)
    new = store.NewRole(
        work.new_id(Prefix.ROLE), org_id, given.name, given.description, sorted(keys), work.now
    )
    row = await store.role_insert(work.conn, new)
    if row is None:
        raise PlatformError(ErrorCode.NAME_TAKEN, f"The tenant has a role named {given.name}.")
    role = _custom(row)
    work.audit(Target("role", role.id, place, after=role))
    work.emit(Happened("identity.role.created", role.id, place, _told(role)))
    return Answer(role, 201, etag_headers(role.revision))


async def role_list(call: Call, org_id: str | None, cursor: str | None, limit: int) -> Page[Role]:
    """Built-in roles first, then the custom ones of tenants the caller has anything to do with."""
    after = cursor_decode(cursor)
    names = list(RoleName)
    if after is not None:
        names = names[names.index(RoleName(after)) + 1 :] if after in ROLES else []
    shown = [_built_in(name) for name in names]
    wanted = store.RoleFilter(
        everywhere=call.caller.reach(Permission.ROLE_READ).everywhere,
        org_ids=_tenants_of(call.caller),
        org_id=org_id,
        before=None if after in ROLES else after,
        count=max(0, limit + 1 - len(shown)),
    )
    async with call.db.connection() as conn:
        rows = await store.roles_page(conn, wanted)
    return page_of([*shown, *map(_custom, rows)], limit, lambda role: role.id)


async def role_read(call: Call, role_id: str) -> Role:
    """One role, built in or custom."""
    if role_id in ROLES:
        return _built_in(RoleName(role_id))
    async with call.db.connection() as conn:
        row = await store.role_read(conn, role_id)
    if row is None:
        raise not_found("role", role_id)
    if row["org_id"] not in _tenants_of(call.caller):
        call.caller.require(Permission.ROLE_READ, Place(row["org_id"]))
    return _custom(row)


async def role_update(role_id: str, given: RoleUpdate, work: Work) -> Answer[Role]:
    """Change a role, for everybody who holds it; added keys must be the changer's own."""
    row = await _held(role_id, work)
    place = Place(row["org_id"])
    match_require(work.call, row["revision"])
    before = _custom(row)
    keys = None if given.permissions is None else _checked(given.permissions)
    if keys is not None:
        grant_require(work.call.caller, keys - frozenset(before.permissions), place)
    changed = await store.role_write(
        work.conn, role_id, given.description, None if keys is None else sorted(keys)
    )
    after = before if changed is None else _custom(changed)
    work.audit(Target("role", role_id, place, before, after))
    work.emit(Happened("identity.role.updated", role_id, place, _told(after)))
    return Answer(after, 200, etag_headers(after.revision))


async def role_delete(role_id: str, work: Work) -> Answer[Role]:
    """Remove a role nobody holds."""
    row = await _held(role_id, work)
    place = Place(row["org_id"])
    match_require(work.call, row["revision"])
    users = await store.role_users(work.conn, role_id)
    if users:
        raise PlatformError(
            ErrorCode.IN_USE,
            f"{users} bindings or group mappings use this role; remove them first.",
            context={"role_id": role_id},
        )
    await store.role_delete(work.conn, role_id)
    role = _custom(row)
    work.audit(Target("role", role_id, place, before=role))
    work.emit(Happened("identity.role.deleted", role_id, place, _told(role)))
    return Answer(None, 204)


async def _held(role_id: str, work: Work) -> Record:
    if role_id in ROLES:
        raise PlatformError(ErrorCode.CONFLICT, "A built-in role does not change.")
    row = await store.role_lock(work.conn, role_id)
    if row is None:
        raise not_found("role", role_id)
    work.require(Permission.ROLE_MANAGE, Place(row["org_id"]))
    return row


def _tenants_of(caller: Caller) -> list[str]:
    """Tenants in which the caller may read roles, be it in one project: roles are a tenant's."""
    held = [grant.place for grant in caller.grants if Permission.ROLE_READ in grant.permissions]
    return sorted({place.org_id for place in held if place.org_id is not None})


def _checked(permissions: list[Permission]) -> frozenset[Permission]:
    keys = frozenset(permissions)
    if Permission.BREAK_GLASS in keys:
        raise invalid("/permissions", "breaking glass belongs to the platform's administrators")
    return keys


def _built_in(name: RoleName) -> Role:
    return Role(
        id=name,
        name=name,
        description=ROLE_TEXTS[name],
        org_id=None,
        built_in=True,
        permissions=sorted(ROLES[name]),
        revision=1,
        created_at=None,
    )


def _custom(row: Record) -> Role:
    return Role(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        org_id=row["org_id"],
        built_in=False,
        permissions=sorted(role_permissions(None, row["permissions"])),
        revision=row["revision"],
        created_at=row["created_at"],
    )


def _told(role: Role) -> dict[str, object]:
    return {"name": role.name, "permissions": list(role.permissions)}
