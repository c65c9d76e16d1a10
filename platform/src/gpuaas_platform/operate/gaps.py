"""Rules of the gap log: what was missing or awkward, kept with its evidence until it is closed.

Called by the routes. Evidence is pasted by people, so credentials in it are masked first.
"""

from gpuaas_contract.common import Page
from gpuaas_contract.ids import Prefix
from gpuaas_contract.operate import Gap, GapCreate, GapEvidence, GapStatus, GapUpdate
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.places import project_place, tenant_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.correlation import scope_of
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.masking import secrets_masked
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work
from gpuaas_platform.operate import store
from gpuaas_platform.operate.store import GapFilter


async def gap_create(work: Work, body: GapCreate) -> Answer[Gap]:
    """Log a gap at the place where it was met."""
    place = await _place(work.conn, body)
    work.require(Permission.GAP_WRITE, place)
    evidence = body.evidence
    row = await store.gap_insert(
        work.conn,
        {
            "id": work.new_id(Prefix.GAP),
            "org_id": place.org_id,
            "project_id": place.project_id,
            "category": body.category,
            "title": body.title,
            "description": secrets_masked(body.description),
            "app_slug": body.app_slug,
            "evidence_request": secrets_masked(evidence.request),
            "evidence_answer": secrets_masked(evidence.answer),
            "evidence_correlation_id": evidence.correlation_id,
            "status": GapStatus.OPEN,
            "reported_by": work.call.caller.id,
            "created_at": work.now,
            "correlation_id": work.call.correlation_id,
        },
    )
    gap = _gap(row)
    _told(work, gap, None)
    return Answer(gap, 201, etag_headers(gap.revision))


async def gap_update(work: Work, gap_id: str, body: GapUpdate) -> Answer[Gap]:
    """Close a gap, open it again, or say it better."""
    row = await store.gap_read(work.conn, gap_id, lock=True)
    if row is None:
        raise not_found("gap", gap_id)
    before = _gap(row)
    work.require(Permission.GAP_WRITE, _place_of(row))
    match_require(work.call, before.revision)
    changes = body.model_dump(exclude_none=True)
    if "description" in changes:
        changes["description"] = secrets_masked(changes["description"])
    if body.status is not None and body.status is not before.status:
        closed = body.status is GapStatus.CLOSED
        changes |= {
            "closed_by": work.call.caller.id if closed else None,
            "closed_at": work.now if closed else None,
        }
    gap = _gap(await store.gap_save(work.conn, gap_id, changes)) if changes else before
    _told(work, gap, before)
    return Answer(gap, 200, etag_headers(gap.revision))


async def gap_list(call: Call, wanted: GapFilter, cursor: str | None, limit: int) -> Page[Gap]:
    """Gaps in the caller's reach, newest first."""
    reach = call.caller.reach(Permission.GAP_READ)
    if not (reach.everywhere or reach.org_ids or reach.project_ids):
        call.caller.require(Permission.GAP_READ, call.caller.home)
    async with call.db.connection() as conn:
        rows = await store.gap_list(conn, wanted, reach, (cursor_decode(cursor), limit + 1))
    return page_of([_gap(row) for row in rows], limit, lambda gap: gap.id)


async def gap_read(call: Call, gap_id: str) -> Gap:
    """One gap."""
    async with call.db.connection() as conn:
        row = await store.gap_read(conn, gap_id)
    if row is None:
        raise not_found("gap", gap_id)
    call.caller.require(Permission.GAP_READ, _place_of(row))
    return _gap(row)


async def _place(conn: Connection, body: GapCreate) -> Place:
    if body.project_id is not None:
        place = await project_place(conn, body.project_id)
        if body.org_id not in {None, place.org_id}:
            raise not_found("project", body.project_id)
        return place
    return PLATFORM if body.org_id is None else await tenant_place(conn, body.org_id)


def _place_of(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])


def _told(work: Work, gap: Gap, before: Gap | None) -> None:
    place = Place(gap.scope.org_id, gap.scope.project_id)
    work.audit(Target("gap", gap.id, place, before=before, after=gap))
    what = "logged" if before is None else str(gap.status)
    if before is None or before.status is not gap.status:
        data = {"gap_id": gap.id, "category": gap.category, "status": gap.status}
        work.emit(Happened(f"operate.gap.{what}", gap.id, place, data, app_slug=gap.app_slug))


def _gap(row: Record) -> Gap:
    values = dict(row)
    evidence = GapEvidence(
        request=values.pop("evidence_request"),
        answer=values.pop("evidence_answer"),
        correlation_id=values.pop("evidence_correlation_id"),
    )
    scope = scope_of(Place(values.pop("org_id"), values.pop("project_id")))
    return Gap(**values, scope=scope, evidence=evidence)
