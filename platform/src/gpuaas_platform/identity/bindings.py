"""Rules of role bindings: who may give which role to whom, where, and take it away again.

Nobody gives or takes what they do not hold at that place, nobody gives anything to themselves, a
service account holds roles in its own project only, and the platform keeps an administrator.
"""

from datetime import timedelta

from gpuaas_contract.access import (
    BindingSource,
    PrincipalKind,
    RoleBinding,
    RoleBindingCreate,
    RoleBindingQuery,
)
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import ROLES, Permission, RoleName
from gpuaas_platform.identity.administrators import admin_remains
from gpuaas_platform.identity.places import scope_place
from gpuaas_platform.identity.roles import KnownRole, role_find
from gpuaas_platform.identity.rules import (
    Escalation,
    grant_require,
    role_permissions,
    scope_of,
)
from gpuaas_platform.identity.store import access as store
from gpuaas_platform.identity.store import machines, people, tenancy
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work


async def binding_create(given: RoleBindingCreate, work: Work) -> Answer[RoleBinding]:
    """Give somebody a role at a place."""
    place = await scope_place(work.conn, given.scope)
    work.require(Permission.BINDING_MANAGE, place)
    principal_id = await _principal(given, place, work)
    role = await role_find(work.conn, given.role, place)
    if principal_id == work.call.caller.id and not await _is_first_admin(role, place, work):
        raise Escalation(
            Permission.BINDING_MANAGE,
            "Nobody gives themselves a role; ask another administrator, or break the glass.",
        )
    grant_require(work.call.caller, role.permissions, place)
    expires = given.expires_in_seconds
    new = store.NewBinding(
        id=work.new_id(Prefix.BINDING),
        principal_id=principal_id,
        role=role.ref,
        place=place,
        created_by=work.call.caller.id,
        now=work.now,
        expires_at=None if expires is None else work.now + timedelta(seconds=expires),
    )
    binding = await binding_make(new, role, work)
    return Answer(binding, 201)


async def first_admin_bind(user_id: str, place: Place, work: Work) -> None:
    """Give a tenant that has none its first administrator; the one role one may give oneself."""
    work.require(Permission.BINDING_MANAGE, place)
    user = await people.user_read(work.conn, user_id)
    if user is None or (
        user_id != work.call.caller.id
        and not work.call.caller.allows(Permission.USER_READ, _home(user))
    ):
        raise invalid("/admin_user_id", f"there is no user {user_id}")
    role = KnownRole(
        store.RoleRef(RoleName.TENANT_ADMIN, None),
        RoleName.TENANT_ADMIN,
        ROLES[RoleName.TENANT_ADMIN],
    )
    grant_require(work.call.caller, role.permissions, place)
    new = store.NewBinding(
        id=work.new_id(Prefix.BINDING),
        principal_id=user_id,
        role=role.ref,
        place=place,
        created_by=work.call.caller.id,
        now=work.now,
    )
    await binding_make(new, role, work)


async def binding_make(new: store.NewBinding, role: KnownRole, work: Work) -> RoleBinding:
    """Write a binding that was allowed, and tell of it."""
    await store.bindings_expired_delete(work.conn, new)
    if not await store.binding_insert(work.conn, new):
        raise PlatformError(
            ErrorCode.CONFLICT, f"{new.principal_id} holds {role.title} there already."
        )
    binding = _present(await store.binding_read(work.conn, new.id))
    told = binding_told(binding)
    work.audit(
        Target("role_binding", binding.id, new.place, None, binding, new.reason, told),
        action="identity.role_binding.create",
    )
    work.emit(Happened("identity.role_binding.created", binding.id, new.place, told))
    return binding


async def binding_list(call: Call, query: RoleBindingQuery) -> Page[RoleBinding]:
    """Bindings the caller may read."""
    wanted = store.BindingFilter(
        call.caller.reach(Permission.BINDING_READ),
        query.org_id,
        query.project_id,
        query.principal_id,
        cursor_decode(query.cursor),
        query.limit + 1,
    )
    async with call.db.connection() as conn:
        rows = await store.bindings_page(conn, wanted)
    return page_of([_binding(row) for row in rows], query.limit, lambda binding: binding.id)


async def binding_read(call: Call, binding_id: str) -> RoleBinding:
    """One binding."""
    async with call.db.connection() as conn:
        row = await store.binding_read(conn, binding_id)
    if row is None:
        raise not_found("role binding", binding_id)
    if row["principal_id"] != call.caller.id:
        call.caller.require(Permission.BINDING_READ, store.place_of(row))
    return _binding(row)


async def binding_delete(binding_id: str, work: Work) -> Answer[RoleBinding]:
    """Take a role away; who may not give it may not take it."""
    row = await store.binding_read(work.conn, binding_id)
    if row is None:
        raise not_found("role binding", binding_id)
    place = store.place_of(row)
    work.require(Permission.BINDING_MANAGE, place)
    grant_require(work.call.caller, role_permissions(row["role_name"], row["permissions"]), place)
    if row["source"] == BindingSource.GROUP:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "This binding follows a group at the identity provider; change the group or its"
            " mapping.",
            context={"group_mapping_id": row["mapping_id"]},
        )
    await binding_remove(row, work)
    return Answer(None, 204)


async def binding_remove(row: Record, work: Work) -> None:
    """Remove a binding that was allowed to go, and tell of it."""
    binding = _binding(row)
    place = store.place_of(row)
    async with admin_remains(work.conn, concerned=place == PLATFORM):
        if not await store.binding_delete(work.conn, binding.id):
            raise not_found("role binding", binding.id)
    told = binding_told(binding)
    work.audit(
        Target("role_binding", binding.id, place, before=binding, detail=told),
        action="identity.role_binding.delete",
    )
    work.emit(Happened("identity.role_binding.deleted", binding.id, place, told))


def binding_told(binding: RoleBinding) -> dict[str, object]:
    """What events and the audit say of a binding."""
    return {
        "principal_id": binding.principal_id,
        "role": binding.role,
        "scope": binding.scope.model_dump(mode="json"),
        "source": binding.source,
    }


async def _is_first_admin(role: KnownRole, place: Place, work: Work) -> bool:
    """Whether this makes the first administrator of a tenant that has none."""
    if role.title != RoleName.TENANT_ADMIN or place.org_id is None or place.project_id is not None:
        return False
    await tenancy.tenant_lock(work.conn, place.org_id)
    return not await store.tenant_has_admin(work.conn, place.org_id)


async def _principal(given: RoleBindingCreate, place: Place, work: Work) -> str:
    """Whom a request means, if they may hold a role there and the caller may know of them."""
    if (given.principal_id is None) == (given.email is None):
        raise invalid("/principal_id", "name a principal_id or an email, not both")
    if given.principal_id is not None and given.principal_id.startswith(
        f"{Prefix.SERVICE_ACCOUNT}_"
    ):
        return await _service_account(given.principal_id, place, work)
    if given.email is not None:
        return await _person(given.email, place, work)
    user = await people.user_read(work.conn, given.principal_id or "")
    if user is None or not await _known(user, place, work):
        raise invalid("/principal_id", "there is no such person here")
    user_id: str = user["id"]
    return user_id


async def _person(email: str, place: Place, work: Work) -> str:
    """The account with an address: the tenant's own, else the one the caller may know of."""
    known = [
        user
        for user in await people.users_by_email(work.conn, email)
        if await _known(user, place, work)
    ]
    own = [user for user in known if user["org_id"] == place.org_id]
    found = own or known
    if not found:
        raise invalid("/principal_id", "there is no such person here")
    if len(found) > 1:
        raise invalid("/email", "several accounts have this address; name one by principal_id")
    user_id: str = found[0]["id"]
    return user_id


async def _service_account(account_id: str, place: Place, work: Work) -> str:
    row = await machines.account_read(work.conn, account_id)
    if row is None or not work.call.caller.knows(Place(row["org_id"], row["project_id"])):
        raise invalid("/principal_id", "there is no such service account here")
    if place != Place(row["org_id"], row["project_id"]):
        raise invalid("/scope", "a service account holds roles in its own project only")
    return account_id


async def _known(user: Record, place: Place, work: Work) -> bool:
    """Whether a person belongs to the tenant, has a role there, or the caller may read them."""
    caller = work.call.caller
    if place.org_id is not None and user["org_id"] == place.org_id:
        return True
    if caller.allows(Permission.USER_READ, _home(user)):
        return True
    held = await people.user_places(work.conn, user["id"])
    return any(row["org_id"] == place.org_id is not None for row in held)


def _home(user: Record) -> Place:
    return Place(user["org_id"]) if user["org_id"] is not None else PLATFORM


def _present(row: Record | None) -> RoleBinding:
    if row is None:
        raise RuntimeError("a binding that was just written is gone")
    return _binding(row)


def _binding(row: Record) -> RoleBinding:
    is_user = row["user_id"] is not None
    return RoleBinding(
        id=row["id"],
        principal_kind=PrincipalKind.USER if is_user else PrincipalKind.SERVICE_ACCOUNT,
        principal_id=row["principal_id"],
        principal_name=row["principal_name"],
        role=row["role_name"] or row["role_id"],
        role_name=row["role_title"],
        scope=scope_of(store.place_of(row)),
        source=BindingSource(row["source"]),
        reason=row["reason"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )
