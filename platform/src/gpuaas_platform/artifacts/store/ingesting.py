"""SQL of the work behind artifacts: what is to be put together, what is to be swept away."""

from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record


async def ingest_claim(
    conn: Connection, kind: str, lease: str, now: datetime, until: datetime
) -> Record | None:
    """Take the next artifact that is due, unless somebody works on it."""
    return await conn.fetchrow(
        "UPDATE artifacts a SET lease = $2, lease_until = $4, attempts = attempts + 1"
        " FROM artifact_sources s WHERE s.id = a.source_id AND a.id = ("
        "SELECT i.id FROM artifacts i JOIN artifact_sources k ON k.id = i.source_id"
        " WHERE i.status = 'ingesting' AND k.kind = $1 AND i.due_at <= $3"
        " AND (i.lease_until IS NULL OR i.lease_until < $3) ORDER BY i.due_at"
        " LIMIT 1 FOR UPDATE OF i SKIP LOCKED)"
        " RETURNING a.*, s.kind, s.address, s.plain_http, s.username, s.password",
        kind, lease, now, until,
    )  # fmt: skip


async def ingest_renew(conn: Connection, artifact_id: str, lease: str, until: datetime) -> bool:
    """Go on working on it; False when it is somebody else's by now."""
    return bool(
        await conn.fetchval(
            "UPDATE artifacts SET lease_until = $3 WHERE id = $1 AND lease = $2"
            " AND status = 'ingesting' RETURNING true",
            artifact_id, lease, until,
        )
    )  # fmt: skip


async def ingest_postpone(
    conn: Connection, artifact_id: str, lease: str, reason: str, due_at: datetime
) -> None:
    """Give it back, to be tried again later."""
    await conn.execute(
        "UPDATE artifacts SET lease = NULL, lease_until = NULL, due_at = $4, status_reason = $3"
        " WHERE id = $1 AND lease = $2 AND status = 'ingesting'",
        artifact_id, lease, reason, due_at,
    )  # fmt: skip


async def ingest_finish(
    conn: Connection, artifact_id: str, digest: str, size: int, now: datetime
) -> None:
    """Its content is whole and verified; the parts are no longer wanted."""
    await conn.execute(
        "UPDATE artifacts SET status = 'published', status_reason = '', digest = $2, size = $3,"
        " published_at = $4, lease = NULL, lease_until = NULL, sweep = 'parts',"
        " revision = revision + 1 WHERE id = $1",
        artifact_id, digest, size, now,
    )  # fmt: skip


async def intents_due(conn: Connection, now: datetime, limit: int) -> list[str]:
    """Intents whose content has not come in time."""
    rows = await conn.fetch(
        "SELECT id FROM artifacts WHERE status = 'intended' AND expires_at <= $1"
        " ORDER BY expires_at LIMIT $2",
        now,
        limit,
    )
    return [row["id"] for row in rows]


async def sweep_list(conn: Connection, after: str, limit: int) -> list[Record]:
    """Artifacts of whose content something is no longer wanted."""
    return await conn.fetch(
        "SELECT id, sweep, upload FROM artifacts WHERE sweep IS NOT NULL AND id > $1"
        " ORDER BY id LIMIT $2",
        after,
        limit,
    )


async def sweep_done(conn: Connection, artifact_id: str, sweep: str) -> None:
    """What was to be swept is gone, and the records of its parts with it."""
    await conn.execute(
        "WITH gone AS (DELETE FROM artifact_parts WHERE artifact_id = $1)"
        " UPDATE artifacts SET sweep = NULL, upload = '' WHERE id = $1 AND sweep = $2",
        artifact_id,
        sweep,
    )


async def keys_known(conn: Connection, keys: list[str]) -> dict[str, str]:
    """Which of these are artifacts, and how each of them stands."""
    rows = await conn.fetch("SELECT id, status FROM artifacts WHERE id = ANY($1::text[])", keys)
    return {row["id"]: row["status"] for row in rows}


async def ingest_size(conn: Connection, artifact_id: str, lease: str, size: int) -> None:
    """Reserve what a pull will take."""
    await conn.execute(
        "UPDATE artifacts SET size = $3 WHERE id = $1 AND lease = $2 AND status = 'ingesting'",
        artifact_id, lease, size,
    )  # fmt: skip


async def ingest_upload(conn: Connection, artifact_id: str, lease: str, upload: str) -> None:
    """Remember what the blob store calls the upload of a pull, so that it can be swept."""
    await conn.execute(
        "UPDATE artifacts SET upload = $3 WHERE id = $1 AND lease = $2 AND status = 'ingesting'",
        artifact_id, lease, upload,
    )  # fmt: skip
