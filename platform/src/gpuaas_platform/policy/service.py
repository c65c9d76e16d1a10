"""Rules of the policy room that other rooms and its routes call."""

from collections.abc import Iterable

from pydantic import TypeAdapter

from gpuaas_contract.common import Page, Scope
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.policy import (
    Decision,
    Dimension,
    EffectivePolicy,
    Overlay,
    OverlayCreate,
    OverlayUpdate,
    RuleSet,
)
from gpuaas_platform.identity.places import project_place, tenant_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work
from gpuaas_platform.policy import store
from gpuaas_platform.policy.rules import OverlayRules, decide, effective, rules_difference
from gpuaas_platform.policy.warnings import warnings_of

_RULES: TypeAdapter[RuleSet] = TypeAdapter(RuleSet)


async def require(conn: Connection, place: Place, dimension: Dimension, value: str) -> None:
    """Pass, or raise `POLICY_DENIED` naming the overlay and rule that decided."""
    decision = decide(await _overlays_at(conn, place), dimension, value)
    if not decision.allowed:
        raise denied(decision)


async def decide_many(
    conn: Connection, place: Place, dimension: Dimension, values: Iterable[str]
) -> dict[str, Decision]:
    """The decision for each value, from one read of the overlays."""
    overlays = await _overlays_at(conn, place)
    return {value: decide(overlays, dimension, value) for value in values}


def denied(decision: Decision) -> PlatformError:
    """The refusal that follows from a decision; raised by `require` and by list-wise callers."""
    context = {"dimension": str(decision.dimension), "value": decision.value}
    if decision.decided_by is not None:
        context["overlay_id"] = decision.decided_by.overlay_id
        context["overlay"] = decision.decided_by.overlay_name
        context["rule"] = f"{decision.decided_by.rule} {decision.decided_by.pattern or 'list'}"
    return PlatformError(ErrorCode.POLICY_DENIED, decision.message, context=context)


async def effective_policy(
    call: Call, place_id: Place, dimension: Dimension | None, value: str | None
) -> EffectivePolicy:
    """The merged policy of a tenant or project, with one decision explained if asked for."""
    if (dimension is None) != (value is None):
        missing = "dimension" if dimension is None else "value"
        raise invalid(f"/query/{missing}", "dimension and value are asked for together")
    async with call.db.connection() as conn:
        place = await _place(conn, place_id)
        call.caller.require(Permission.POLICY_READ, place)
        overlays = await _overlays_at(conn, place)
    decision = None
    if dimension is not None and value is not None:
        decision = decide(overlays, dimension, value)
    return EffectivePolicy(
        scope=_scope(place),
        rules={one: effective(overlays, one) for one in Dimension},
        decision=decision,
    )


async def overlay_list(
    call: Call, place_id: Place, cursor: str | None, limit: int
) -> Page[Overlay]:
    """Overlays written at one place, by name."""
    async with call.db.connection() as conn:
        place = await _place(conn, place_id)
        call.caller.require(Permission.POLICY_READ, place)
        rows = await store.overlay_list(conn, place, cursor_decode(cursor), limit + 1)
        above = _above(place, await _overlays_at(conn, place))
    return page_of([_overlay(row, above) for row in rows], limit, lambda one: one.name)


async def overlay_read(call: Call, overlay_id: str) -> Overlay:
    """One overlay with what is to be said about it today."""
    async with call.db.connection() as conn:
        row = await store.overlay_read(conn, overlay_id)
        if row is None:
            raise not_found("overlay", overlay_id)
        place = _row_place(row)
        call.caller.require(Permission.POLICY_READ, place)
        return _overlay(row, _above(place, await _overlays_at(conn, place)))


async def overlay_create(work: Work, place_id: Place, body: OverlayCreate) -> Answer[Overlay]:
    """Add an overlay at a place."""
    place = await _place(work.conn, place_id)
    work.require(Permission.POLICY_WRITE, place)
    made = OverlayRules(work.new_id(Prefix.OVERLAY), body.name, _scope(place), body.rules)
    row = await store.overlay_insert(work.conn, made, body.description, work.now)
    if row is None:
        raise PlatformError(
            ErrorCode.NAME_TAKEN, f"There is an overlay {body.name} at this place already."
        )
    return await _changed(work, row, {})


async def overlay_update(work: Work, overlay_id: str, body: OverlayUpdate) -> Answer[Overlay]:
    """Replace an overlay's rules."""
    before = await _locked(work, overlay_id)
    row = await store.overlay_update(work.conn, overlay_id, body.description, body.rules, work.now)
    if row is None:
        raise not_found("overlay", overlay_id)
    return await _changed(work, row, _rules(before))


async def overlay_delete(work: Work, overlay_id: str) -> Answer[Overlay]:
    """Remove an overlay. What it narrowed is open again, as far as the others allow."""
    row = await _locked(work, overlay_id)
    await store.overlay_delete(work.conn, overlay_id)
    _record(work, row, _rules(row), {})
    return Answer(None, 204)


async def _changed(work: Work, row: Record, before: RuleSet) -> Answer[Overlay]:
    place = _row_place(row)
    above = _above(place, await _overlays_at(work.conn, place))
    overlay = _overlay(row, above)
    _record(work, row, before, overlay.rules)
    status = 201 if row["revision"] == 1 else 200
    return Answer(overlay, status, etag_headers(overlay.revision))


def _record(work: Work, row: Record, before: RuleSet, after: RuleSet) -> None:
    """One audit row that tells what changed, and one event without the rules themselves."""
    place = _row_place(row)
    detail = {"name": row["name"], "changes": rules_difference(before, after)}
    work.audit(
        Target(
            "policy_overlay",
            row["id"],
            place,
            before=_RULES.dump_python(before, mode="json") or None,
            after=_RULES.dump_python(after, mode="json") or None,
            detail=detail,
        )
    )
    verb = work.action.rpartition(".")[2]
    data = {"overlay_id": row["id"], "name": row["name"], "revision": row["revision"]}
    work.emit(Happened(f"policy.overlay.{_PAST[verb]}", row["id"], place, data))


_PAST = {"create": "created", "update": "updated", "delete": "deleted"}


async def _locked(work: Work, overlay_id: str) -> Record:
    """The overlay, locked, after the caller was found to be allowed to change it."""
    row = await store.overlay_lock(work.conn, overlay_id)
    if row is None:
        raise not_found("overlay", overlay_id)
    work.require(Permission.POLICY_WRITE, _row_place(row))
    match_require(work.call, row["revision"])
    return row


async def _place(conn: Connection, place: Place) -> Place:
    """The place a path names, completed and known to exist."""
    if place.project_id is not None:
        return await project_place(conn, place.project_id)
    if place.org_id is not None:
        return await tenant_place(conn, place.org_id)
    return PLATFORM


async def _overlays_at(conn: Connection, place: Place) -> list[OverlayRules]:
    rows = await store.overlays_at(conn, place)
    return [OverlayRules(r["id"], r["name"], _scope(_row_place(r)), _rules(r)) for r in rows]


def _above(place: Place, overlays: Iterable[OverlayRules]) -> list[OverlayRules]:
    """Overlays of the levels above a place."""
    kind = place.kind
    return [overlay for overlay in overlays if overlay.scope.kind != kind]


def _overlay(row: Record, above: Iterable[OverlayRules]) -> Overlay:
    rules = _rules(row)
    return Overlay(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        scope=_scope(_row_place(row)),
        rules=rules,
        warnings=warnings_of(rules, above),
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _rules(row: Record) -> RuleSet:
    return _RULES.validate_python(row["rules"])


def _row_place(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])


def _scope(place: Place) -> Scope:
    return Scope(kind=place.kind, org_id=place.org_id, project_id=place.project_id)
