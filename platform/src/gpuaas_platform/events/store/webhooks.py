"""SQL of webhooks: the resource, its lease, its deliveries.

Every write of somebody who serves a webhook is guarded by the lease: no row means stop.
"""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class HookRow:
    """A webhook to be."""

    id: str
    place: Place
    url: str
    description: str
    types: list[str]
    app_slug: str | None
    app_instance_id: str | None
    secret: bytes
    now: datetime


@dataclass(frozen=True)
class Lease:
    """Who serves a webhook, by a token nobody else has, and until when."""

    hook_id: str
    token: str
    until: datetime


@dataclass(frozen=True)
class Attempt:
    """One try to deliver one event, and how it went. `body` is kept of what is given up."""

    delivery_id: str
    event_id: str
    event_type: str
    seq: int
    attempts: int
    status: str
    response_status: int | None
    error: str
    at: datetime
    body: bytes | None = None


async def hook_add(conn: Connection, row: HookRow) -> Record:
    """Add a webhook that begins with the event that comes next."""
    found = await conn.fetchrow(
        "INSERT INTO webhooks (id, org_id, project_id, url, description, types, app_slug,"
        " app_instance_id, status, secret, cursor, next_attempt_at, created_at, updated_at)"
        " SELECT $1, $2, $3, $4, $5, $6, $7, $8, 'active', $9, seq, $10, $10, $10 FROM event_head"
        " RETURNING *",
        row.id,
        row.place.org_id,
        row.place.project_id,
        row.url,
        row.description,
        row.types,
        row.app_slug,
        row.app_instance_id,
        row.secret,
        row.now,
    )
    return _one(found)


async def hook_count(conn: Connection, place: Place) -> int:
    """How many webhooks a project, or a tenant itself, has; others wait until this has ended."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('webhooks:' || $1, 0))",
        place.project_id or place.org_id,
    )
    return int(
        await conn.fetchval(
            "SELECT count(*) FROM webhooks"
            " WHERE org_id = $1 AND project_id IS NOT DISTINCT FROM $2",
            place.org_id,
            place.project_id,
        )
    )


async def hook_read(conn: Connection, hook_id: str, *, lock: bool = False) -> Record | None:
    """One webhook, locked when it is to be changed."""
    return await conn.fetchrow(
        f"SELECT * FROM webhooks WHERE id = $1 {'FOR UPDATE' if lock else ''}",  # noqa: S608 - a fixed word
        hook_id,
    )


async def hook_list(conn: Connection, place: Place, before: str | None, limit: int) -> list[Record]:
    """Webhooks of a project, or of a tenant and all its projects, newest first."""
    return await conn.fetch(
        "SELECT * FROM webhooks WHERE org_id = $1 AND ($2::text IS NULL OR project_id = $2)"
        " AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4",
        place.org_id,
        place.project_id,
        before,
        limit,
    )


async def hook_change(conn: Connection, row: HookRow) -> Record:
    """Write what people may change."""
    found = await conn.fetchrow(
        "UPDATE webhooks SET url = $2, description = $3, types = $4, app_slug = $5,"
        " app_instance_id = $6, revision = revision + 1, updated_at = $7 WHERE id = $1 RETURNING *",
        row.id,
        row.url,
        row.description,
        row.types,
        row.app_slug,
        row.app_instance_id,
        row.now,
    )
    return _one(found)


async def hook_enable(conn: Connection, hook_id: str, now: datetime) -> Record:
    """Serve it again, from where it stopped, at once."""
    found = await conn.fetchrow(
        "UPDATE webhooks SET status = 'active', disabled_reason = '', failures = 0,"
        " event_attempts = 0, failing_since = NULL, next_attempt_at = $2, last_error = '',"
        " revision = revision + 1, updated_at = $2 WHERE id = $1 RETURNING *",
        hook_id,
        now,
    )
    return _one(found)


async def hook_disable(conn: Connection, hook_id: str, reason: str, now: datetime) -> Record:
    """Serve it no longer; whoever does at this moment loses the lease."""
    found = await conn.fetchrow(
        "UPDATE webhooks SET status = 'disabled', disabled_reason = $2, lease = NULL,"
        " revision = revision + 1, updated_at = $3 WHERE id = $1 RETURNING *",
        hook_id,
        reason,
        now,
    )
    return _one(found)


async def hook_rotate(
    conn: Connection, hook_id: str, secret: bytes, old_until: datetime, now: datetime
) -> Record:
    """Give it a new secret; the one before signs too for a while."""
    found = await conn.fetchrow(
        "UPDATE webhooks SET old_secret = secret, old_secret_until = $3, secret = $2,"
        " revision = revision + 1, updated_at = $4 WHERE id = $1 RETURNING *",
        hook_id,
        secret,
        old_until,
        now,
    )
    return _one(found)


async def hook_delete(conn: Connection, hook_id: str) -> None:
    """Remove it with its deliveries."""
    await conn.execute("DELETE FROM webhooks WHERE id = $1", hook_id)


async def hooks_claim(
    conn: Connection, now: datetime, token: str, until: datetime, limit: int
) -> list[Record]:
    """Take webhooks that are due and have something to deliver, nobody else's."""
    return await conn.fetch(
        "UPDATE webhooks SET lease = $2, lease_until = $3 WHERE id IN ("
        " SELECT id FROM webhooks w WHERE status = 'active' AND next_attempt_at <= $1"
        " AND (lease IS NULL OR lease_until < $1) AND (CASE WHEN project_id IS NULL"
        " THEN EXISTS (SELECT FROM events e WHERE e.org_id = w.org_id AND e.seq > w.cursor)"
        " ELSE EXISTS (SELECT FROM events e WHERE e.project_id = w.project_id"
        " AND e.seq > w.cursor) END"
        " OR EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id"
        " AND d.status = 'redelivering'))"
        " ORDER BY next_attempt_at LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING *",
        now,
        token,
        until,
        limit,
    )


async def hook_release(conn: Connection, lease: Lease) -> None:
    """Give the webhook back."""
    await conn.execute(
        "UPDATE webhooks SET lease = NULL WHERE id = $1 AND lease = $2", lease.hook_id, lease.token
    )


async def hook_skip(conn: Connection, lease: Lease, cursor: int) -> bool:
    """Nothing up to here concerns the webhook."""
    return _hit(
        await conn.execute(
            "UPDATE webhooks SET cursor = $3 WHERE id = $1 AND lease = $2",
            lease.hook_id,
            lease.token,
            cursor,
        )
    )


async def hook_delivered(conn: Connection, lease: Lease, attempt: Attempt) -> bool:
    """The event arrived: on to the next; the lease lives on."""
    held = await conn.fetchval(
        "UPDATE webhooks SET cursor = $3, event_attempts = 0, failures = 0, failing_since = NULL,"
        " last_error = '', lease_until = $4 WHERE id = $1 AND lease = $2 RETURNING true",
        lease.hook_id,
        lease.token,
        attempt.seq,
        lease.until,
    )
    return bool(held) and await _attempt_keep(conn, lease.hook_id, attempt)


async def hook_failed(
    conn: Connection, lease: Lease, attempt: Attempt, next_at: datetime
) -> datetime | None:
    """The event did not arrive: again later, or on to the next when it is given up.

    Returns since when nothing has arrived; None when the lease was lost.
    """
    given_up = attempt.status == "dead"
    since: datetime | None = await conn.fetchval(
        "UPDATE webhooks SET failures = failures + 1, failing_since = coalesce(failing_since, $3),"
        " last_error = $4, next_attempt_at = $5, event_attempts = $6,"
        " cursor = CASE WHEN $7 THEN $8 ELSE cursor END"
        " WHERE id = $1 AND lease = $2 RETURNING failing_since",
        lease.hook_id,
        lease.token,
        attempt.at,
        attempt.error,
        next_at,
        0 if given_up else attempt.attempts,
        given_up,
        attempt.seq,
    )
    if since is not None:
        await _attempt_keep(conn, lease.hook_id, attempt)
    return since


async def redeliveries(conn: Connection, hook_id: str, limit: int) -> list[Record]:
    """Dead deliveries somebody asked for again, oldest event first."""
    return await conn.fetch(
        "SELECT * FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'redelivering'"
        " ORDER BY seq LIMIT $2",
        hook_id,
        limit,
    )


async def redelivery_end(conn: Connection, lease: Lease, attempt: Attempt) -> bool:
    """How a second chance ended; the event is kept unless it arrived."""
    return _hit(
        await conn.execute(
            "UPDATE webhook_deliveries SET status = $3, attempts = $4, response_status = $5,"
            " error = $6, at = $7, body = CASE WHEN $3 = 'delivered' THEN NULL ELSE body END"
            " WHERE id = $1 AND EXISTS (SELECT FROM webhooks WHERE id = webhook_id AND lease = $2)",
            attempt.delivery_id,
            lease.token,
            attempt.status,
            attempt.attempts,
            attempt.response_status,
            attempt.error,
            attempt.at,
        )
    )


async def delivery_list(
    conn: Connection, hook_id: str, status: str | None, page: tuple[str | None, int]
) -> list[Record]:
    """Deliveries of a webhook, newest first."""
    before, limit = page
    return await conn.fetch(
        "SELECT * FROM webhook_deliveries WHERE webhook_id = $1 AND ($2::text IS NULL OR"
        " status = $2) AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4",
        hook_id,
        status,
        before,
        limit,
    )


async def delivery_read(conn: Connection, delivery_id: str) -> Record | None:
    """One delivery."""
    return await conn.fetchrow("SELECT * FROM webhook_deliveries WHERE id = $1", delivery_id)


async def deliveries_revive(conn: Connection, hook_id: str, delivery_id: str | None) -> int:
    """Put dead deliveries (one, or all) back on their way; how many."""
    status = await conn.execute(
        "UPDATE webhook_deliveries SET status = 'redelivering' WHERE webhook_id = $1"
        " AND status = 'dead' AND ($2::text IS NULL OR id = $2)",
        hook_id,
        delivery_id,
    )
    return int(status.rsplit(" ", 1)[1])


async def deliveries_sweep(conn: Connection, before: datetime, keep: int, batch: int) -> int:
    """Delete old deliveries, and those beyond the newest `keep` of a webhook; how many went."""
    aged = await conn.execute(
        "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries"
        " WHERE at < $1 AND status <> 'redelivering' ORDER BY at LIMIT $2)",
        before,
        batch,
    )
    surplus = await conn.execute(
        "DELETE FROM webhook_deliveries WHERE id IN (SELECT d.id FROM webhooks w CROSS JOIN LATERAL"
        " (SELECT id FROM webhook_deliveries WHERE webhook_id = w.id AND status <> 'redelivering'"
        " ORDER BY id DESC OFFSET $1 LIMIT $2) AS d)",
        keep,
        batch,
    )
    return int(aged.rsplit(" ", 1)[1]) + int(surplus.rsplit(" ", 1)[1])


async def _attempt_keep(conn: Connection, hook_id: str, attempt: Attempt) -> bool:
    await conn.execute(
        "INSERT INTO webhook_deliveries (id, webhook_id, event_id, event_type, seq, status,"
        " attempts, response_status, error, at, body)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
        " ON CONFLICT (webhook_id, event_id) DO UPDATE SET status = excluded.status,"
        " attempts = excluded.attempts, response_status = excluded.response_status,"
        " error = excluded.error, at = excluded.at, body = excluded.body",
        attempt.delivery_id,
        hook_id,
        attempt.event_id,
        attempt.event_type,
        attempt.seq,
        attempt.status,
        attempt.attempts,
        attempt.response_status,
        attempt.error,
        attempt.at,
        attempt.body,
    )
    return True


def _hit(status: str) -> bool:
    return status != "UPDATE 0"


def _one(row: Record | None) -> Record:
    if row is None:
        raise RuntimeError("a statement that returns its row returned none")
    return row
