"""Rules of group mappings: which role a group at the OIDC provider carries, and where.

Whoever makes one must hold the role's keys at that place themselves: a mapping may reach anybody,
the maker included.
"""

from collections.abc import Iterable

from gpuaas_contract.access import GroupMapping, GroupMappingCreate
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.bindings import binding_make, binding_remove
from gpuaas_platform.identity.places import scope_place
from gpuaas_platform.identity.roles import KnownRole, role_find
from gpuaas_platform.identity.rules import hold_require, role_permissions, scope_of
from gpuaas_platform.identity.store import access, federation
from gpuaas_platform.identity.store import groups as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work


async def mapping_create(given: GroupMappingCreate, work: Work) -> Answer[GroupMapping]:
    """Let a group carry a role, from everybody's next sign-in on."""
    place = await scope_place(work.conn, given.scope)
    work.require(Permission.BINDING_MANAGE, place)
    issuer = await _issuer(given.provider_id, place, work)
    role = await role_find(work.conn, given.role, place)
    hold_require(work.call.caller, role.permissions, place)
    new = store.NewMapping(
        work.new_id(Prefix.GROUP_MAPPING),
        issuer,
        given.group,
        role.ref,
        place,
        work.now,
        given.provider_id,
    )
    row = await store.mapping_insert(work.conn, new)
    if row is None:
        raise PlatformError(ErrorCode.CONFLICT, "The group carries this role there already.")
    mapping = _mapping(row)
    work.audit(Target("group_mapping", mapping.id, place, after=mapping))
    work.emit(Happened("identity.group_mapping.created", mapping.id, place, _told(mapping)))
    return Answer(mapping, 201)


async def mapping_list(
    call: Call, org_id: str | None, cursor: str | None, limit: int
) -> Page[GroupMapping]:
    """Mappings the caller may read."""
    reach = call.caller.reach(Permission.BINDING_READ)
    wanted = store.MappingFilter(reach, org_id, cursor_decode(cursor), limit + 1)
    async with call.db.connection() as conn:
        rows = await store.mappings_page(conn, wanted)
    return page_of([_mapping(row) for row in rows], limit, lambda mapping: mapping.id)


async def mapping_delete(mapping_id: str, work: Work) -> Answer[GroupMapping]:
    """End a mapping, and every binding that follows it, now."""
    row = await store.mapping_lock(work.conn, mapping_id)
    if row is None:
        raise not_found("group mapping", mapping_id)
    place = access.place_of(row)
    work.require(Permission.BINDING_MANAGE, place)
    hold_require(work.call.caller, role_permissions(row["role_name"], row["permissions"]), place)
    await mapping_remove(mapping_id, work)
    return Answer(None, 204)


async def mapping_remove(mapping_id: str, work: Work) -> None:
    """Remove a mapping that was allowed to go, with every binding that follows it."""
    row = await store.mapping_lock(work.conn, mapping_id)
    if row is None:
        raise not_found("group mapping", mapping_id)
    mapping, place = _mapping(row), access.place_of(row)
    work.audit(
        Target("group_mapping", mapping_id, place, before=mapping),
        action="identity.group_mapping.delete",
    )
    await _bindings_remove(await store.followers(work.conn, mapping_id), work)
    await store.mapping_delete(work.conn, mapping_id)
    work.emit(Happened("identity.group_mapping.deleted", mapping_id, place, _told(mapping)))


async def groups_apply(
    user_id: str, provider_id: str | None, mappings: list[Record], work: Work
) -> None:
    """Make the bindings by groups of one provider what those groups say now."""
    held = await store.bindings_followed(work.conn, user_id, provider_id)
    wanted = {row["id"]: row for row in mappings}
    await _bindings_remove([held[gone] for gone in held if gone not in wanted], work)
    for mapping_id, row in wanted.items():
        if mapping_id in held:
            continue
        ref = access.RoleRef(row["role_name"], row["role_id"])
        keys = role_permissions(row["role_name"], row["permissions"])
        new = access.NewBinding(
            id=work.new_id(Prefix.BINDING),
            principal_id=user_id,
            role=ref,
            place=access.place_of(row),
            created_by=mapping_id,
            now=work.now,
            source="group",
            mapping_id=mapping_id,
        )
        await binding_make(new, KnownRole(ref, row["role_title"], keys), work)


async def _issuer(provider_id: str | None, place: Place, work: Work) -> str:
    """The issuer of the provider whose group is mapped: the operator's, or one of the tenant."""
    if provider_id is None:
        issuer = work.call.platform.settings.oidc_issuer
        if issuer is None:
            raise PlatformError(ErrorCode.CONFLICT, "No identity provider is configured.")
        return issuer
    row = await federation.provider_lock(work.conn, provider_id)
    if row is None or row["org_id"] != place.org_id:
        raise invalid("/provider_id", "is no identity provider of the scope's tenant")
    return str(row["issuer"])


async def _bindings_remove(binding_ids: Iterable[str], work: Work) -> None:
    for binding_id in binding_ids:
        row = await access.binding_read(work.conn, binding_id)
        if row is not None:
            await binding_remove(row, work)


def _mapping(row: Record) -> GroupMapping:
    return GroupMapping(
        id=row["id"],
        issuer=row["issuer"],
        provider_id=row["provider_id"],
        group=row["group_name"],
        role=row["role_name"] or row["role_id"],
        role_name=row["role_title"],
        scope=scope_of(access.place_of(row)),
        created_at=row["created_at"],
    )


def _told(mapping: GroupMapping) -> dict[str, object]:
    return {
        "group": mapping.group,
        "role": mapping.role,
        "scope": mapping.scope.model_dump(mode="json"),
    }
