"""Rules of reading usage: whose it is, who may see it, and from when to when."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final

from gpuaas_contract.billing import (
    MAX_DAYS,
    InstanceUsage,
    UsageFilter,
    UsageGrouping,
    UsageRecord,
    UsageRecordQuery,
    UsageSummaryQuery,
    UsageTotal,
    hours_of,
    money_of,
)
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_platform.apps.rows import InstanceRow, MemberRow
from gpuaas_platform.apps.service import instance_record, members_ever
from gpuaas_platform.billing import showing, store
from gpuaas_platform.billing.metering import Stretch
from gpuaas_platform.billing.showing import Held, Part, Seat, Span, second_of
from gpuaas_platform.capacity.allocations import allocation_find_many
from gpuaas_platform.events.reading_on import sequence_reach
from gpuaas_platform.identity.places import project_place, tenant_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.correlation import scope_of
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid

_MEMBERS: Final = 10_000
_USUAL_DAYS: Final = 31
_GOES_ON: Final = "infinity"


async def instance_usage(call: Call, instance_id: str, query: UsageFilter) -> InstanceUsage:
    """What an instance used: its running time, and its machines while it held them."""
    now = second_of(call.platform.clock.now())
    async with call.db.transaction() as conn:
        instance = await instance_record(conn, instance_id)
        call.caller.require(Permission.USAGE_READ, Place(instance.org_id, instance.project_id))
        since, until = _period(query, second_of(instance.created_at), now)
        machines = await _machines(conn, await members_ever(conn, instance_id, _MEMBERS))
        subjects = [instance_id, *(one.allocation_id for one in machines)]
        found = await store.records_of(conn, subjects, since, until)
        recorded_to = await _recorded_to(conn, now)
    of = _by_subject(found)
    running = showing.parts_within(of[instance_id], [(since, until)], now)
    held = [(one, _added(one, of[one.allocation_id], (since, until), now)) for one in machines]
    parts = [*running, *(part for _, added in held for part in added)]
    totals = showing.totals_of(parts)
    seconds = sum(part.seconds for part in running)
    return InstanceUsage(
        app_instance_id=instance.id,
        resource_name=instance.resource_name,
        owner=scope_of(_owner(instance)),
        since=since,
        until=until,
        recorded_to=recorded_to,
        open=any(part.open for part in parts),
        running_seconds=seconds,
        running_hours=hours_of(seconds),
        totals=totals,
        amounts=showing.amounts_of(totals),
        price_per_hour=showing.prices_now(parts),
        machines=[showing.machine_view(one, added) for one, added in held if added],
        days=_latest_days(parts, until),
        notes=showing.notes_of(parts),
    )


async def project_records(
    call: Call, project_id: str, query: UsageRecordQuery
) -> Page[UsageRecord]:
    """Usage records a project owns."""
    async with call.db.connection() as conn:
        place = await project_place(conn, project_id)
    return await _records(call, place, query)


async def tenant_records(call: Call, org_id: str, query: UsageRecordQuery) -> Page[UsageRecord]:
    """Usage records of a tenant: its own and those of all its projects."""
    async with call.db.connection() as conn:
        place = await tenant_place(conn, org_id)
    return await _records(call, place, query)


async def project_summary(
    call: Call, project_id: str, query: UsageSummaryQuery
) -> list[UsageTotal]:
    """Sums of what a project owns."""
    async with call.db.connection() as conn:
        place = await project_place(conn, project_id)
    return await _summary(call, place, query)


async def tenant_summary(call: Call, org_id: str, query: UsageSummaryQuery) -> list[UsageTotal]:
    """Sums of a tenant's usage, its own and its projects'."""
    async with call.db.connection() as conn:
        place = await tenant_place(conn, org_id)
    return await _summary(call, place, query)


async def _records(call: Call, place: Place, query: UsageRecordQuery) -> Page[UsageRecord]:
    call.caller.require(Permission.USAGE_READ, place)
    now = second_of(call.platform.clock.now())
    since, until = _bounds(query, now)
    period = store.Period(place, since, until, query.source, query.unit)
    async with call.db.connection() as conn:
        found = await store.record_list(conn, period, _after(query.cursor), query.limit + 1)
    views = [showing.record_view(one, since, until) for one in found]
    return page_of(views, query.limit, _key)


async def _summary(call: Call, place: Place, query: UsageSummaryQuery) -> list[UsageTotal]:
    call.caller.require(Permission.USAGE_READ, place)
    now = second_of(call.platform.clock.now())
    since, until = _period(query, now - timedelta(days=_USUAL_DAYS), now)
    if query.by is UsageGrouping.DAY and until - since > timedelta(days=MAX_DAYS):
        raise invalid("/query/since", f"at most {MAX_DAYS} days by day; ask for less, or by total")
    period = store.Period(place, since, until, query.source, query.unit)
    async with call.db.connection() as conn:
        rows = await store.usage_sum(conn, period, query.by)
    return [_total(row) for row in rows]


def _total(row: Record) -> UsageTotal:
    owed = row["price_seconds"]
    return UsageTotal(
        day=row["day"],
        project_id=row["project_id"],
        source=row["source"],
        unit=row["unit"],
        seconds=row["seconds"],
        quantity=hours_of(row["seconds"]),
        amount=None if owed is None else money_of(owed),
        currency=row["currency"],
        unpriced_seconds=row["unpriced_seconds"],
        open=row["open"],
    )


def _by_subject(found: list[Stretch]) -> dict[str, list[Stretch]]:
    grouped: dict[str, list[Stretch]] = defaultdict(list)
    for stretch in found:
        grouped[stretch.subject_id].append(stretch)
    return grouped


def _added(held: Held, stretches: list[Stretch], period: Span, now: datetime) -> list[Part]:
    """What a machine counted while the instance held it."""
    return showing.parts_within(stretches, showing.spans_held(held, period), now)


async def _machines(conn: Connection, members: list[MemberRow]) -> list[Held]:
    """The machines of members, oldest first."""
    seats: dict[str, list[Seat]] = {}
    for one in reversed(members):
        seat = Seat(one.id, one.component_key, one.created_at, one.removed_at)
        seats.setdefault(one.allocation_id, []).append(seat)
    found = {one.id: one for one in await allocation_find_many(conn, list(seats))}
    return [
        Held(allocation_id, found[allocation_id].name, found[allocation_id].sku, held)
        for allocation_id, held in seats.items()
    ]


def _owner(instance: InstanceRow) -> Place:
    """Who pays: the project, or the tenant where the control plane is the tenant's."""
    if instance.control_plane_scope == "project":
        return Place(instance.org_id, instance.project_id)
    return Place(instance.org_id)


async def _recorded_to(conn: Connection, now: datetime) -> datetime:
    """Up to when every change is counted: now, where none waits."""
    mark, reach = await store.watermark_read(conn), await sequence_reach(conn)
    done = mark["seq"] >= reach.head and not reach.waiting
    return now if done else min(now, second_of(mark["at"]))


def _latest_days(parts: list[Part], until: datetime) -> list[UsageTotal]:
    first = (until - timedelta(days=MAX_DAYS)).date()
    return [one for one in showing.days_of(parts) if one.day is not None and one.day >= first]


def _period(query: UsageFilter, usual: datetime, now: datetime) -> tuple[datetime, datetime]:
    since, until = _bounds(query, now)
    return (min(usual, until) if since is None else since), until


def _bounds(query: UsageFilter, now: datetime) -> tuple[datetime | None, datetime]:
    """The period in whole seconds; nothing lies behind now."""
    since = None if query.since is None else second_of(query.since)
    until = now if query.until is None else min(now, second_of(query.until))
    if since is not None and query.until is not None and since > second_of(query.until):
        raise invalid("/query/until", "lies before since")
    return since, until


def _key(record: UsageRecord) -> str:
    end = _GOES_ON if record.ended_at is None else record.ended_at.isoformat()
    return f"{end}|{record.id}"


def _after(cursor: str | None) -> tuple[str, str] | None:
    key = cursor_decode(cursor)
    if key is None:
        return None
    end, _, last_id = key.partition("|")
    try:
        known = end == _GOES_ON or datetime.fromisoformat(end).tzinfo is not None
    except ValueError:
        known = False
    if not known or not last_id:
        raise PlatformError(
            ErrorCode.INVALID_CURSOR, "The cursor was not made by this list; start over."
        )
    return end, last_id
