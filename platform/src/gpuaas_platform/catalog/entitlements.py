"""Rules of entitlements: the platform entitles tenants, a tenant's admin entitles its projects.

A project's entitlement only narrows its tenant's. Taking one back stops new deploys; what runs
keeps running. Called by the catalog's routes.
"""

from collections.abc import Iterator

from gpuaas_contract.catalog import (
    Entitlement,
    EntitlementCreate,
    EntitlementRead,
    EntitlementUpdate,
    EntitlementWarning,
    SettingsOverlay,
)
from gpuaas_contract.common import Page, Scope
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.input_schema import schema_at
from gpuaas_contract.patterns import patterns_meet, patterns_reduced
from gpuaas_contract.permissions import Permission
from gpuaas_contract.pointers import pointer_make
from gpuaas_platform.catalog import store
from gpuaas_platform.catalog.availability import entitled_at
from gpuaas_platform.catalog.manifests import manifest_parsed
from gpuaas_platform.identity.places import project_place, tenant_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import Denied, PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work


async def entitlement_create(
    work: Work, place_id: Place, body: EntitlementCreate
) -> Answer[EntitlementRead]:
    """Let a tenant or project use an app."""
    place = await _place(work.conn, place_id)
    _giver_require(work, place)
    app = await _app_to_give(work.conn, place, body.app_slug)
    row = await store.entitlement_insert(
        work.conn,
        store.NewEntitlement(
            id=work.new_id(Prefix.ENTITLEMENT),
            app_id=app["id"],
            place=place,
            versions=body.versions,
            settings=body.settings.model_dump(mode="json"),
            now=work.now,
        ),
    )
    if row is None:
        raise PlatformError(
            ErrorCode.NAME_TAKEN, f"There is an entitlement to {body.app_slug} here already."
        )
    return await _changed(work, row, app["slug"], None)


async def entitlement_update(
    work: Work, entitlement_id: str, body: EntitlementUpdate
) -> Answer[EntitlementRead]:
    """Replace what an entitlement covers."""
    before = await _locked(work, entitlement_id)
    settings = body.settings.model_dump(mode="json")
    row = await store.entitlement_update(work.conn, entitlement_id, body.versions, settings)
    if row is None:
        raise not_found("entitlement", entitlement_id)
    return await _changed(work, row, before["slug"], before)


async def entitlement_delete(work: Work, entitlement_id: str) -> Answer[EntitlementRead]:
    """Take an entitlement back: no new deploys; instances that exist stay."""
    row = await _locked(work, entitlement_id)
    await store.entitlement_revoke(work.conn, entitlement_id, work.now)
    _record(work, row, row["slug"], ("revoked", _content(row), None))
    return Answer(None, 204)


async def entitlement_list(
    call: Call, place_id: Place, cursor: str | None, limit: int
) -> Page[Entitlement]:
    """Entitlements given to one tenant or project, newest first."""
    async with call.db.connection() as conn:
        place = await _place(conn, place_id)
        call.caller.require(Permission.ENTITLEMENT_READ, place)
        rows = await store.entitlement_list(conn, place, cursor_decode(cursor), limit + 1)
    return page_of([_entitlement(row, row["slug"]) for row in rows], limit, lambda one: one.id)


async def entitlement_read(call: Call, entitlement_id: str) -> EntitlementRead:
    """One entitlement with what is to be said about it today."""
    async with call.db.connection() as conn:
        row = await store.entitlement_read(conn, entitlement_id)
        if row is None:
            raise not_found("entitlement", entitlement_id)
        call.caller.require(Permission.ENTITLEMENT_READ, _row_place(row))
        return await _read(conn, row, row["slug"])


def warnings_of(
    own: Entitlement, tenant: Entitlement | None, deploy_schema: dict[str, object] | None
) -> Iterator[EntitlementWarning]:
    """Parts of an entitlement that can have no effect. Pure."""
    if tenant is not None and own.versions is not None and tenant.versions is not None:
        for index, pattern in enumerate(own.versions):
            left = patterns_meet([pattern], tenant.versions)
            if left != patterns_reduced([pattern]):
                covers = ", ".join(left) or "nothing"
                message = f"{pattern!r} covers {covers}: the tenant's entitlement covers no more."
                yield EntitlementWarning(pointer=f"/versions/{index}", message=message)
    for name in ("defaults", "fixed", "limits"):
        for pointer in getattr(own.settings, name):
            where = f"/settings/{name}" + pointer_make([pointer])
            if deploy_schema is not None and schema_at(deploy_schema, pointer) is None:
                message = f"the deploy form of the latest version has no field {pointer}"
                yield EntitlementWarning(pointer=where, message=message)
            elif tenant is not None and name != "limits" and pointer in tenant.settings.fixed:
                message = f"{pointer} is fixed by the tenant's entitlement"
                yield EntitlementWarning(pointer=where, message=message)


async def _app_to_give(conn: Connection, place: Place, slug: str) -> Record:
    """The app; for a project only one its tenant is entitled to, others are not there for it."""
    app = await store.app_read(conn, slug, store.Sight(everything=True, org_ids=()))
    if app is not None and place.project_id is not None:
        rows = await store.entitlements_at(conn, place, [app["id"]])
        app = app if entitled_at(place, rows, app["id"]).tenant is not None else None
    if app is None:
        raise not_found("app", slug)
    return app


async def _changed(
    work: Work, row: Record, slug: str, before: Record | None
) -> Answer[EntitlementRead]:
    was = None if before is None else _content(before)
    _record(work, row, slug, ("granted" if before is None else "changed", was, _content(row)))
    found = await _read(work.conn, row, slug)
    return Answer(found, 201 if before is None else 200, etag_headers(found.revision))


def _record(
    work: Work, row: Record, slug: str, change: tuple[str, dict[str, object] | None, object]
) -> None:
    """One audit row with the content itself, and one event at the place it is about."""
    happened, before, after = change
    place = _row_place(row)
    detail = {"app_slug": slug, "before": before, "after": after}
    target = Target("entitlement", row["id"], place, before=before, after=after, detail=detail)
    work.audit(target)
    data = {"entitlement_id": row["id"], "app_slug": slug}
    work.emit(Happened(f"catalog.entitlement.{happened}", row["id"], place, data, slug))


async def _locked(work: Work, entitlement_id: str) -> Record:
    """The entitlement, locked, after the caller was found to be allowed to change it."""
    row = await store.entitlement_lock(work.conn, entitlement_id)
    if row is None:
        raise not_found("entitlement", entitlement_id)
    _giver_require(work, _row_place(row))
    match_require(work.call, row["revision"])
    return row


async def _read(conn: Connection, row: Record, slug: str) -> EntitlementRead:
    place = _row_place(row)
    own = _entitlement(row, slug)
    tenant = None
    if place.project_id is not None:
        rows = await store.entitlements_at(conn, place, [row["app_id"]])
        above = entitled_at(place, rows, row["app_id"]).tenant
        tenant = None if above is None else _entitlement(above, slug)
    latest = await store.version_latest(conn, row["app_id"])
    schema = None
    if latest is not None:
        schema = manifest_parsed(latest["digest"], latest["manifest"]).deploy.input
    warnings = list(warnings_of(own, tenant, schema))
    return EntitlementRead(**dict(own), warnings=warnings)


async def _place(conn: Connection, place: Place) -> Place:
    if place.project_id is not None:
        return await project_place(conn, place.project_id)
    return await tenant_place(conn, place.org_id or "")


def _giver_require(work: Work, place: Place) -> None:
    """Whoever entitles holds the permission one level above; strangers learn of no place."""
    giver = PLATFORM if place.project_id is None else Place(place.org_id)
    caller = work.call.caller
    if not caller.allows(Permission.ENTITLEMENT_MANAGE, giver):
        raise Denied(Permission.ENTITLEMENT_MANAGE, hidden=not caller.knows(place))


def _row_place(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])


def _content(row: Record) -> dict[str, object]:
    return {"versions": row["versions"], "settings": row["settings"]}


def _entitlement(row: Record, slug: str) -> Entitlement:
    place = _row_place(row)
    return Entitlement(
        id=row["id"],
        scope=Scope(kind=place.kind, org_id=place.org_id, project_id=place.project_id),
        app_slug=slug,
        versions=row["versions"],
        settings=SettingsOverlay.model_validate(row["settings"]),
        revision=row["revision"],
        created_at=row["created_at"],
    )
