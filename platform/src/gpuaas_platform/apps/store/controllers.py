"""SQL of controllers seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuaas_platform.kernel.database import Connection, Record

_QUIET = timedelta(seconds=5)  # seen again within this is not worth a write


@dataclass(frozen=True)
class Seen:
    """A controller at work: who, which replica, for which app, serving which place."""

    service_account_id: str
    replica: str
    app_slug: str
    version: str
    place: str
    org_id: str | None
    project_id: str | None


async def controller_seen(conn: Connection, seen: Seen, now: datetime) -> datetime | None:
    """Note that a controller was seen; when it was seen before, or None when that was just now."""
    record = await conn.fetchrow(
        "WITH old AS (SELECT last_seen FROM app_controllers WHERE app_slug = $3 AND place = $5"
        " AND service_account_id = $1 AND replica = $2),"
        " new AS (INSERT INTO app_controllers (service_account_id, replica, app_slug, version,"
        " place, org_id, project_id, first_seen, last_seen)"
        " SELECT $1, $2, $3, $4, $5, $6, $7, $8, $8"
        " WHERE NOT EXISTS (SELECT 1 FROM old WHERE last_seen > $9)"
        " ON CONFLICT (app_slug, place, service_account_id, replica)"
        " DO UPDATE SET last_seen = greatest(app_controllers.last_seen, $8), version = $4"
        " RETURNING first_seen)"
        " SELECT (SELECT last_seen FROM old) AS before, EXISTS (SELECT 1 FROM new) AS written",
        seen.service_account_id,
        seen.replica,
        seen.app_slug,
        seen.version,
        seen.place,
        seen.org_id,
        seen.project_id,
        now,
        now - _QUIET,
    )
    if record is None or not record["written"]:
        return None
    before: datetime | None = record["before"]
    return before or datetime.fromtimestamp(0, tz=now.tzinfo)


async def replica_touch(
    conn: Connection, account_id: str, replica: str, app_slug: str, now: datetime
) -> bool:
    """A known replica was seen again, wherever it serves; False when it is not known."""
    records = await conn.fetch(
        "SELECT place, last_seen FROM app_controllers WHERE app_slug = $1"
        " AND service_account_id = $2 AND replica = $3",
        app_slug,
        account_id,
        replica,
    )
    if any(record["last_seen"] <= now - _QUIET for record in records):
        await conn.execute(
            "UPDATE app_controllers SET last_seen = $4 WHERE app_slug = $1"
            " AND service_account_id = $2 AND replica = $3",
            app_slug,
            account_id,
            replica,
            now,
        )
    return bool(records)


async def controller_present(
    conn: Connection, app_slug: str, places: Sequence[str], since: datetime
) -> bool:
    """Whether a controller that serves one of these places was seen since then."""
    return bool(
        await conn.fetchval(
            "SELECT EXISTS (SELECT 1 FROM app_controllers WHERE app_slug = $1"
            " AND place = ANY($2) AND last_seen > $3)",
            app_slug,
            list(places),
            since,
        )
    )


async def controllers_list(conn: Connection, places: Sequence[str]) -> list[Record]:
    """Controllers that serve one of these places."""
    return await conn.fetch(
        "SELECT service_account_id, replica, app_slug, version, place, first_seen, last_seen"
        " FROM app_controllers WHERE place = ANY($1)"
        " ORDER BY app_slug, place, service_account_id, replica LIMIT 1000",
        list(places),
    )


async def controllers_forget(conn: Connection, before: datetime) -> None:
    """Drop replicas that have been gone for long."""
    await conn.execute("DELETE FROM app_controllers WHERE last_seen < $1", before)


async def absence_changed(conn: Connection, since: datetime, limit: int) -> list[Record]:
    """Live instances whose `controller_absent` no longer says what is so.

    Absent: no controller that serves the instance was seen since then, or work it could claim has
    waited from before then.
    """
    return await conn.fetch(
        "SELECT i.id, i.correlation_id, w.reason FROM app_instances i, LATERAL (SELECT CASE"
        " WHEN NOT EXISTS (SELECT 1 FROM app_controllers c WHERE c.app_slug = i.app_slug"
        " AND c.last_seen > $1 AND c.place IN ('*', i.org_id, i.project_id, i.id))"
        " THEN 'not_seen'"
        " WHEN EXISTS (SELECT 1 FROM operations o WHERE o.instance_id = i.id"
        " AND o.status = 'requested' AND o.ready AND o.not_before < $1)"
        " THEN 'work_waits' END AS reason) w"
        " WHERE i.status <> 'deleted' AND w.reason IS DISTINCT FROM"
        " (SELECT held ->> 'reason' FROM jsonb_array_elements(i.conditions) held"
        " WHERE held ->> 'type' = 'controller_absent') LIMIT $2",
        since,
        limit,
    )
