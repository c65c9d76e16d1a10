"""Rules of apps and versions: publish once, never change, deprecate, withdraw.

Called by the catalog's routes. Publishing is the platform's: one catalog for all tenants. A tenant
sees the apps it is entitled to and never a draft.
"""

from dataclasses import dataclass
from typing import Any

from gpuaas_contract.catalog import (
    App,
    AppCreate,
    AppUpdate,
    AppVersion,
    AppVersionSummary,
    ManifestValidate,
    Validation,
    VersionCreate,
    VersionDeprecate,
    VersionWithdraw,
)
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.semver import version_sort_key
from gpuaas_contract.states import VERSION, VersionStatus
from gpuaas_platform.catalog import store
from gpuaas_platform.catalog.manifests import (
    manifest_digest,
    manifest_parsed,
    manifest_problems,
    manifest_require,
)
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Caller
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import Denied, PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work


async def app_create(work: Work, body: AppCreate) -> Answer[App]:
    """Put an app into the catalog."""
    work.require(Permission.CATALOG_PUBLISH, PLATFORM)
    row = await store.app_insert(work.conn, work.new_id(Prefix.APP), body, work.now)
    if row is None:
        raise PlatformError(ErrorCode.NAME_TAKEN, f"There is an app {body.slug} already.")
    app = _app(row)
    work.audit(Target("app", app.id, after=app, detail={"slug": app.slug}))
    work.emit(Happened("catalog.app.created", app.id, PLATFORM, {"app_id": app.id}, app.slug))
    return Answer(app, 201, etag_headers(app.revision))


async def app_update(work: Work, slug: str, body: AppUpdate) -> Answer[App]:
    """Change the words of an app."""
    work.require(Permission.CATALOG_PUBLISH, PLATFORM)
    before = await store.app_lock(work.conn, slug)
    if before is None:
        raise not_found("app", slug)
    match_require(work.call, before["revision"])
    await store.app_update(work.conn, before["id"], body.model_dump(exclude_none=True))
    row = await _app_row(work.conn, slug, store.Sight(everything=True, org_ids=()))
    app = _app(row)
    words = body.model_dump(exclude_none=True)
    work.audit(
        Target("app", app.id, before={key: before[key] for key in words}, after=words, detail=words)
    )
    work.emit(Happened("catalog.app.updated", app.id, PLATFORM, {"app_id": app.id}, slug))
    return Answer(app, 200, etag_headers(app.revision))


async def app_list(call: Call, cursor: str | None, limit: int) -> Page[App]:
    """Apps the caller sees, by slug."""
    sight = sight_of(call.caller)
    async with call.db.connection() as conn:
        rows = await store.app_list(conn, sight, cursor_decode(cursor), limit + 1)
    return page_of([_app(row) for row in rows], limit, lambda app: app.slug)


async def app_read(call: Call, slug: str) -> App:
    """One app the caller sees."""
    async with call.db.connection() as conn:
        return _app(await _app_row(conn, slug, sight_of(call.caller)))


async def version_create(work: Work, slug: str, body: VersionCreate) -> Answer[AppVersion]:
    """Add a version, as a draft or published at once."""
    work.require(Permission.CATALOG_PUBLISH, PLATFORM)
    app = await store.app_lock(work.conn, slug)
    if app is None:
        raise not_found("app", slug)
    manifest = manifest_require(body.manifest)
    new = store.NewVersion(
        id=work.new_id(Prefix.APP_VERSION),
        app_id=app["id"],
        version=body.version,
        status=VersionStatus.PUBLISHED if body.publish else VersionStatus.DRAFT,
        manifest=body.manifest,
        digest=manifest_digest(body.manifest),
        package_version=manifest.package_version,
        notes=body.notes,
        now=work.now,
    )
    row = await store.version_insert(work.conn, new)
    if row is None:
        raise await _taken(work.conn, slug, new)
    return _version_answer(work, slug, row, None, "published" if body.publish else "drafted")


async def version_publish(work: Work, slug: str, version: str) -> Answer[AppVersion]:
    """Publish a draft, or take a deprecation back."""
    return await _version_move(work, slug, version, _Move(VersionStatus.PUBLISHED))


async def version_deprecate(
    work: Work, slug: str, version: str, body: VersionDeprecate
) -> Answer[AppVersion]:
    """Say that a version should no longer be chosen. It can still be deployed."""
    move = _Move(VersionStatus.DEPRECATED, body.message, body.replacement)
    return await _version_move(work, slug, version, move)


async def version_withdraw(
    work: Work, slug: str, version: str, body: VersionWithdraw
) -> Answer[AppVersion]:
    """Refuse new deploys of a version. Instances that exist keep running and can be operated."""
    move = _Move(VersionStatus.WITHDRAWN, body.reason, body.replacement)
    return await _version_move(work, slug, version, move)


async def version_list(
    call: Call, slug: str, cursor: str | None, limit: int
) -> Page[AppVersionSummary]:
    """Versions of an app, highest first."""
    drafts = _publishes(call.caller)
    async with call.db.connection() as conn:
        app = await _app_row(conn, slug, sight_of(call.caller))
        before = cursor_decode(cursor)
        rows = await store.version_list(conn, app["id"], before, limit + 1, drafts=drafts)
    found = [_summary(row, slug) for row in rows]
    return page_of(found, limit, lambda one: version_sort_key(one.version))


async def version_read(call: Call, slug: str, version: str) -> AppVersion:
    """One version with its manifest."""
    async with call.db.connection() as conn:
        await _app_row(conn, slug, sight_of(call.caller))
        row = await store.version_read(conn, slug, version)
    hidden = row is not None and row["status"] == VersionStatus.DRAFT
    if row is None or (hidden and not _publishes(call.caller)):
        raise not_found("app version", f"{slug} {version}")
    return _version(row, slug)


def manifest_validate(call: Call, body: ManifestValidate) -> Validation:
    """What publishing this manifest would say."""
    sight_of(call.caller)
    _, problems = manifest_problems(body.manifest)
    placed = [
        FieldError(pointer=f"/manifest{one.pointer}", message=one.message) for one in problems
    ]
    return Validation(valid=not placed, errors=placed)


def sight_of(caller: Caller) -> store.Sight:
    """Which apps this caller sees; refused where it may read no catalog anywhere."""
    places = [g.place for g in caller.grants if Permission.CATALOG_READ in g.permissions]
    if not places:
        raise Denied(Permission.CATALOG_READ, hidden=False)
    return store.Sight(
        everything=PLATFORM in places,
        org_ids=tuple(sorted({place.org_id for place in places if place.org_id is not None})),
    )


@dataclass(frozen=True)
class _Move:
    """A step in the life of a version, and what is said about it."""

    status: VersionStatus
    message: str = ""
    replacement: str | None = None


async def _version_move(work: Work, slug: str, version: str, move: _Move) -> Answer[AppVersion]:
    work.require(Permission.CATALOG_PUBLISH, PLATFORM)
    before = await store.version_lock(work.conn, slug, version)
    if before is None:
        raise not_found("app version", f"{slug} {version}")
    match_require(work.call, before["revision"])
    if before["status"] == move.status or not VERSION.allows(before["status"], move.status):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"{slug} {version} is {before['status']}: it cannot become {move.status}.",
            context={"status": before["status"]},
        )
    await _replacement_require(work.conn, slug, version, move.replacement)
    words = (move.message, move.replacement, work.now)
    row = await store.version_status_set(work.conn, before["id"], move.status, words)
    if row is None:
        raise not_found("app version", f"{slug} {version}")
    return _version_answer(work, slug, row, before, move.status)


async def _replacement_require(
    conn: Connection, slug: str, version: str, replacement: str | None
) -> None:
    """What is recommended instead must be there to be chosen."""
    if replacement is None:
        return
    row = await store.version_read(conn, slug, replacement)
    if replacement == version or row is None or row["status"] != VersionStatus.PUBLISHED:
        raise invalid("/replacement", f"{slug} has no other published version {replacement}")


def _version_answer(
    work: Work, slug: str, row: Record, before: Record | None, happened: str
) -> Answer[AppVersion]:
    """Record what became of a version, and answer with it."""
    version = _version(row, slug)
    detail = {"slug": slug, "version": version.version, "status": version.status}
    work.audit(
        Target(
            "app_version",
            version.id,
            before=None if before is None else {"status": before["status"]},
            after={"status": version.status, "digest": version.digest},
            reason=version.message,
            detail=detail | {"digest": version.digest, "replacement": version.replacement},
        )
    )
    data = {**detail, "replacement": version.replacement, "message": version.message}
    work.emit(Happened(f"catalog.version.{happened}", version.id, PLATFORM, data, slug))
    status = 201 if before is None else 200
    return Answer(version, status, etag_headers(version.revision))


async def _taken(conn: Connection, slug: str, new: store.NewVersion) -> PlatformError:
    """The number is used; whether for the same manifest tells a publisher if that matters."""
    row = await store.version_read(conn, slug, new.version)
    same = row is not None and row["digest"] == new.digest
    words = "the same manifest" if same else "another manifest, and a version never changes"
    return PlatformError(
        ErrorCode.NAME_TAKEN,
        f"{slug} {new.version} exists with {words}.",
        context={"digest": row["digest"] if row else "", "same_manifest": str(same).lower()},
    )


async def _app_row(conn: Connection, slug: str, sight: store.Sight) -> Record:
    row = await store.app_read(conn, slug, sight)
    if row is None:
        raise not_found("app", slug)
    return row


def _publishes(caller: Caller) -> bool:
    return caller.allows(Permission.CATALOG_PUBLISH, PLATFORM)


def _app(row: Record) -> App:
    return App(**{name: row[name] for name in App.model_fields})


def _summary(row: Record, slug: str) -> AppVersionSummary:
    return AppVersionSummary(**_summary_fields(row), app_slug=slug)


def _version(row: Record, slug: str) -> AppVersion:
    manifest = manifest_parsed(row["digest"], row["manifest"])
    return AppVersion(**_summary_fields(row), app_slug=slug, manifest=manifest)


def _summary_fields(row: Record) -> dict[str, Any]:
    return {name: row[name] for name in AppVersionSummary.model_fields if name != "app_slug"}
