"""The catalog as one project sees it: what it may deploy, why not, and with which form.

Called by the catalog's routes; reads only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_contract.catalog import (
    InputCheck,
    InputValidation,
    OperationForm,
    ProjectApp,
    ProjectAppVersion,
    UnavailableReason,
)
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_contract.policy import Decision, Dimension
from gpuaas_contract.states import VersionStatus
from gpuaas_platform.catalog import store
from gpuaas_platform.catalog.availability import (
    Entitled,
    app_reasons,
    entitled_at,
    policy_value,
    version_reasons,
)
from gpuaas_platform.catalog.inputs import (
    defaults_apply,
    input_validate,
    operation_form,
)
from gpuaas_platform.catalog.records import VersionRecord
from gpuaas_platform.catalog.service import deployable_version, offer_of, version_record
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.policy import service as policy


@dataclass(frozen=True)
class ProjectAppQuery:
    """Which apps of a project are asked for."""

    project_id: str
    unavailable: bool
    cursor: str | None
    limit: int


async def project_app_list(call: Call, query: ProjectAppQuery) -> Page[ProjectApp]:
    """Apps a project may deploy, by slug; on request also those it may not, with the reasons.

    A page is cut from the tenant's apps before those that are not available are left out, so a
    page may hold fewer than `limit` and still have a next one.
    """
    async with call.db.connection() as conn:
        place = await _place(conn, call, query.project_id)
        sight = _tenant_sight(place)
        rows = await store.app_list(conn, sight, cursor_decode(query.cursor), query.limit + 1)
        page = page_of(rows, query.limit, lambda row: str(row["slug"]))
        found = await _seen(conn, place, page.items)
    items = found if query.unavailable else [_only_available(one) for one in found if one.available]
    return Page[ProjectApp](items=items, next_cursor=page.next_cursor)


async def project_app_read(call: Call, project_id: str, slug: str) -> ProjectApp:
    """One app as a project sees it, with every version and the reasons."""
    async with call.db.connection() as conn:
        place = await _place(conn, call, project_id)
        row = await store.app_read(conn, slug, _tenant_sight(place))
        if row is None:
            raise not_found("app", slug)
        return (await _seen(conn, place, [row]))[0]


async def version_offered(conn: Connection, place: Place, slug: str) -> str:
    """The version a new instance gets when none is named: the newest that may be deployed here."""
    row = await store.app_read(conn, slug, _tenant_sight(place))
    if row is None:
        raise not_found("app", slug)
    found = (await _seen(conn, place, [row]))[0]
    if found.latest_available is None:
        told = [*found.reasons, *(why for one in found.versions for why in one.reasons)]
        raise PlatformError(
            ErrorCode.POLICY_DENIED,
            told[0].message if told else f"No version of {slug} may be deployed here.",
            context={"app_slug": slug},
        )
    return found.latest_available


async def form_read(
    call: Call, project_id: str, named: tuple[str, str], kind: str | None
) -> OperationForm:
    """The form of an operation with the entitlements' bounds in it."""
    version = await _usable(call, project_id, named, kind)
    return operation_form(version, kind or version.manifest.deploy.kind)


async def input_check(
    call: Call, project_id: str, named: tuple[str, str], body: InputCheck
) -> InputValidation:
    """What a deploy or operation with this input would say, without asking for it."""
    version = await _usable(call, project_id, named, body.kind)
    kind = body.kind or version.manifest.deploy.kind
    filled = defaults_apply(version, kind, body.input)
    errors = input_validate(version, kind, filled)
    return InputValidation(valid=not errors, errors=errors, input=filled)


async def _usable(
    call: Call, project_id: str, named: tuple[str, str], kind: str | None
) -> VersionRecord:
    """The version to deploy, or for another operation any version an instance may still have."""
    slug, number = named
    async with call.db.connection() as conn:
        place = await _place(conn, call, project_id)
        if await store.app_read(conn, slug, _tenant_sight(place)) is None:
            raise not_found("app version", f"{slug} {number}")
        version = await version_record(conn, slug, number)
        if kind is None or kind == version.manifest.deploy.kind:
            return await deployable_version(conn, place, slug, number)
    if version.status is VersionStatus.DRAFT:
        raise not_found("app version", f"{slug} {number}")
    return version


async def _place(conn: Connection, call: Call, project_id: str) -> Place:
    place = await project_place(conn, project_id)
    call.caller.require(Permission.CATALOG_READ, place)
    return place


def _tenant_sight(place: Place) -> store.Sight:
    return store.Sight(everything=False, org_ids=(place.org_id,) if place.org_id else ())


async def _seen(conn: Connection, place: Place, apps: Sequence[Record]) -> list[ProjectApp]:
    """Apps with their versions judged: one read of versions, entitlements and overlays each."""
    slugs = {row["id"]: row["slug"] for row in apps}
    versions = await store.versions_of(conn, list(slugs))
    entitlements = await store.entitlements_at(conn, place, list(slugs))
    values = [policy_value(slugs[row["app_id"]], row["version"]) for row in versions]
    decisions = await policy.decide_many(conn, place, Dimension.APP_VERSIONS, values)
    found = [
        _project_app(
            row,
            [one for one in versions if one["app_id"] == row["id"]],
            entitled_at(place, entitlements, row["id"]),
            decisions,
        )
        for row in apps
    ]
    return await _described(conn, found)


async def _described(conn: Connection, apps: Sequence[ProjectApp]) -> list[ProjectApp]:
    """Where the publisher wrote nothing, what the version says of itself that is offered, or the
    newest there is."""
    offered = {app.slug: _shown(app) for app in apps if not app.description}
    wanted = {slug: version for slug, version in offered.items() if version is not None}
    said = await store.summaries_of(conn, wanted) if wanted else {}
    return [
        app.model_copy(update={"description": app.description or said.get(app.slug, "")})
        for app in apps
    ]


def _shown(app: ProjectApp) -> str | None:
    newest = app.versions[0].version if app.versions else None
    return app.latest_available or newest


def _project_app(
    app: Record, versions: Sequence[Record], entitled: Entitled, decisions: dict[str, Decision]
) -> ProjectApp:
    judged = [_project_version(row, app["slug"], entitled, decisions) for row in versions]
    reasons = app_reasons(entitled, app["slug"])
    if not judged:
        message = f"{app['slug']} has no published version."
        reasons.append(UnavailableReason(code="no_version", message=message))
    return ProjectApp(
        slug=app["slug"],
        display_name=app["display_name"],
        description=app["description"],
        publisher=app["publisher"],
        kind_label=app["kind_label"],
        available=any(one.available for one in judged),
        latest_available=_latest(judged),
        reasons=reasons,
        versions=judged,
    )


def _project_version(
    row: Record, slug: str, entitled: Entitled, decisions: dict[str, Decision]
) -> ProjectAppVersion:
    offer = offer_of(row, slug)
    reasons = version_reasons(offer, entitled, decisions[offer.policy_value])
    return ProjectAppVersion(
        version=offer.version,
        status=offer.status,
        message=offer.message,
        replacement=offer.replacement,
        available=not reasons,
        reasons=reasons,
    )


def _latest(judged: Sequence[ProjectAppVersion]) -> str | None:
    """What a person is offered first: a release before a pre-release, deprecated ones last."""
    available = [one for one in judged if one.available]
    if not available:
        return None
    best = min(available, key=lambda one: (one.status == "deprecated", "-" in one.version))
    return best.version


def _only_available(app: ProjectApp) -> ProjectApp:
    kept = [one for one in app.versions if one.available]
    return app.model_copy(update={"versions": kept})
