"""Break-glass: a platform administrator enters a tenant, for a while, with a reason, seen by all.

The only way for the platform's administrators to act inside a tenant's workloads without a role the
tenant gave them. Opening and closing are audited and told in the tenant's own events.
"""

from datetime import timedelta
from typing import Final

from gpuaas_contract.access import REASON_MIN, BreakGlass, BreakGlassOpen
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission, RoleName
from gpuaas_platform.identity.bindings import binding_remove
from gpuaas_platform.identity.places import tenant_place
from gpuaas_platform.identity.store import access as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, CallerKind
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_SOURCE: Final = "break_glass"


async def break_glass_open(given: BreakGlassOpen, work: Work) -> Answer[BreakGlass]:
    """Become the tenant's administrator for a while."""
    work.require(Permission.BREAK_GLASS, PLATFORM)
    reason = given.reason.strip()
    if len(reason) < REASON_MIN:
        raise PlatformError(
            ErrorCode.REASON_REQUIRED,
            f"Say why, in {REASON_MIN} characters or more; the tenant will read it.",
        )
    if work.call.caller.kind is not CallerKind.USER:
        raise PlatformError(ErrorCode.CONFLICT, "Only a person breaks the glass.")
    place = await tenant_place(work.conn, given.org_id)
    new = store.NewBinding(
        id=work.new_id(Prefix.BINDING),
        principal_id=work.call.caller.id,
        role=store.RoleRef(RoleName.TENANT_ADMIN, None),
        place=place,
        created_by=work.call.caller.id,
        now=work.now,
        source=_SOURCE,
        reason=reason,
        expires_at=work.now + timedelta(seconds=given.duration_seconds),
    )
    await store.binding_insert(work.conn, new)
    row = await store.binding_read(work.conn, new.id)
    if row is None:
        raise RuntimeError("a binding that was just written is gone")
    visit = _visit(row)
    detail = {"expires_at": visit.expires_at.isoformat()}
    work.audit(Target(_SOURCE, new.id, place, after=visit, reason=reason, detail=detail))
    told = {"user_id": visit.user_id, "reason": reason, **detail}
    work.emit(Happened("identity.break_glass.opened", new.id, place, told))
    return Answer(visit, 201)


async def break_glass_list(call: Call, cursor: str | None, limit: int) -> Page[BreakGlass]:
    """Glass that is broken now, in all tenants."""
    call.caller.require(Permission.BINDING_READ, PLATFORM)
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        rows = await store.visits_page(conn, now, cursor_decode(cursor), limit + 1)
    return page_of([_visit(row) for row in rows], limit, lambda visit: visit.id)


async def break_glass_close(binding_id: str, work: Work) -> Answer[BreakGlass]:
    """End a visit before its time: one's own, or as whoever manages roles there."""
    row = await store.binding_read(work.conn, binding_id)
    if row is None or row["source"] != _SOURCE:
        raise not_found("broken glass", binding_id)
    place = store.place_of(row)
    if row["principal_id"] != work.call.caller.id:
        work.require(Permission.BINDING_MANAGE, place)
    await binding_remove(row, work)
    told = {"user_id": row["principal_id"]}
    work.emit(Happened("identity.break_glass.closed", binding_id, place, told))
    return Answer(None, 204)


def _visit(row: Record) -> BreakGlass:
    return BreakGlass(
        id=row["id"],
        user_id=row["principal_id"],
        org_id=row["org_id"],
        reason=row["reason"],
        opened_at=row["created_at"],
        expires_at=row["expires_at"],
    )
