"""SQL of artifacts: their life, their parts, their channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuaas_contract.artifacts import ArtifactCreate
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import ArtifactStatus, ArtifactTrust
from gpuaas_platform.artifacts.store.sources import Tiers
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions

_CHANNELS = (
    "ARRAY(SELECT c.channel FROM artifact_channels c WHERE c.artifact_id = a.id ORDER BY 1)"
    " AS channels"
)
_COLUMNS = (
    "a.*, s.address AS source_address, s.kind, s.enabled, s.signature_required,"
    f" s.project_publish, {_CHANNELS}"
)
_SELECT = f"SELECT {_COLUMNS} FROM artifacts a JOIN artifact_sources s ON s.id = a.source_id"  # noqa: S608 - code
_USABLE = "('published', 'promoted', 'deprecated')"


@dataclass(frozen=True)
class NewArtifact:
    """An artifact to be."""

    id: str
    source: Record
    wanted: ArtifactCreate
    status: ArtifactStatus
    created_by: str
    correlation_id: str
    created_at: datetime
    expires_at: datetime | None


async def artifact_insert(conn: Connection, new: NewArtifact) -> None:
    """Keep the intent; whoever calls holds the source and has looked for a twin."""
    wanted, blob = new.wanted, new.source["kind"] == "blob"
    await conn.execute(
        "INSERT INTO artifacts (id, org_id, source_id, name, version, platform, description,"
        " media_type, digest, size, reference, part_size, status, trust, created_by,"
        " correlation_id, created_at, expires_at, due_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8,"
        " $9, $10, $11, $12, $13, 'unverified', $14, $15, $16, $17, $16)",
        new.id, new.source["org_id"], new.source["id"], wanted.name, wanted.version,
        wanted.platform, wanted.description, wanted.media_type, wanted.digest if blob else None,
        wanted.size, None if blob else wanted.digest, wanted.part_size, new.status,
        new.created_by, new.correlation_id, new.created_at, new.expires_at,
    )  # fmt: skip


async def artifact_twin(conn: Connection, source_id: str, wanted: ArtifactCreate) -> Record | None:
    """What has this name, version and platform in the source already."""
    return await conn.fetchrow(
        f"{_SELECT} WHERE a.source_id = $1 AND a.name = $2 AND a.version = $3 AND a.platform = $4"
        " AND a.status <> 'failed'",
        source_id, wanted.name, wanted.version, wanted.platform,
    )  # fmt: skip


async def artifact_read(conn: Connection, artifact_id: str) -> Record | None:
    """One artifact."""
    return await conn.fetchrow(f"{_SELECT} WHERE a.id = $1", artifact_id)


async def artifact_lock(conn: Connection, artifact_id: str) -> Record | None:
    """One artifact, held until the transaction ends."""
    return await conn.fetchrow(f"{_SELECT} WHERE a.id = $1 FOR UPDATE OF a", artifact_id)


async def artifact_source_lock(conn: Connection, artifact_id: str) -> None:
    """Hold the source of an artifact: taken before artifacts, so that nobody waits in a ring."""
    await conn.execute(
        "SELECT FROM artifact_sources s JOIN artifacts a ON a.source_id = s.id WHERE a.id = $1"
        " FOR UPDATE OF s",
        artifact_id,
    )


@dataclass(frozen=True)
class ArtifactFilter:
    """Which artifacts a list shows."""

    tiers: Tiers
    source_id: str | None
    name: str | None
    status: ArtifactStatus | None


async def artifact_list(
    conn: Connection, wanted: ArtifactFilter, after: str | None, limit: int
) -> list[Record]:
    """Artifacts in reach, newest first: each tier's index is walked, then merged."""
    conditions = Conditions()
    conditions.add_given("source_id = {}", wanted.source_id)
    conditions.add_given("name = {}", wanted.name)
    conditions.add_given("status = {}", wanted.status)
    conditions.add_given("id < {}", after)
    page = f"ORDER BY id DESC LIMIT {limit:d}"
    if wanted.tiers.everywhere:
        rows = f"SELECT * FROM artifacts WHERE {_all(conditions)} {page}"  # noqa: S608 - code
    else:
        texts = _all(conditions)
        conditions.args.append(wanted.tiers.names)
        rows = (
            f"SELECT r.* FROM unnest(${len(conditions.args)}::text[]) AS t(wanted)"  # noqa: S608 - code
            f" CROSS JOIN LATERAL (SELECT * FROM artifacts WHERE tier = wanted AND {texts}"
            f" {page}) AS r"
        )
    return await conn.fetch(
        f"SELECT {_COLUMNS} FROM ({rows}) AS a JOIN artifact_sources s ON s.id = a.source_id"  # noqa: S608 - code
        f" ORDER BY a.id DESC LIMIT {limit:d}",
        *conditions.args,
    )


async def artifact_status(
    conn: Connection, artifact_id: str, status: ArtifactStatus, reason: str, sweep: str | None
) -> None:
    """Set where an artifact stands, and what of its content is no longer wanted."""
    await conn.execute(
        "UPDATE artifacts SET status = $2, status_reason = $3, sweep = coalesce($4, sweep),"
        " expires_at = NULL, revision = revision + 1 WHERE id = $1",
        artifact_id, status, reason, sweep,
    )  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """What a signature came to."""

    trust: ArtifactTrust
    reason: str
    signature: str | None
    key_id: str | None


async def artifact_trust(conn: Connection, artifact_id: str, judged: Judged) -> None:
    """Set how far an artifact is trusted, and why."""
    await conn.execute(
        "UPDATE artifacts SET trust = $2, trust_reason = $3, signature = $4, key_id = $5,"
        " revision = revision + 1 WHERE id = $1",
        artifact_id, judged.trust, judged.reason, judged.signature, judged.key_id,
    )  # fmt: skip


async def artifacts_of_key(conn: Connection, key_id: str) -> list[Record]:
    """What a key vouches for, held, in the order of ids."""
    return await conn.fetch(
        f"{_SELECT} WHERE a.key_id = $1 AND a.trust = 'verified' ORDER BY a.id FOR UPDATE OF a",
        key_id,
    )


async def upload_begin(conn: Connection, artifact_id: str, upload: str) -> str:
    """Name the upload unless another request already did; the name that holds."""
    held = await conn.fetchval(
        "UPDATE artifacts SET upload = CASE WHEN upload = '' THEN $2 ELSE upload END"
        " WHERE id = $1 AND status = 'intended' RETURNING upload",
        artifact_id,
        upload,
    )
    return str(held or "")


@dataclass(frozen=True)
class PartRow:
    """A part that is in the blob store."""

    artifact_id: str
    number: int
    size: int
    digest: str
    tag: str


async def part_insert(
    conn: Connection, part: PartRow, now: datetime, until: datetime
) -> Record | None:
    """Record a part, or say what is recorded under its number; the upload lives on."""
    await conn.execute(
        "INSERT INTO artifact_parts (artifact_id, number, size, digest, tag, received_at)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (artifact_id, number) DO UPDATE"
        " SET tag = excluded.tag WHERE artifact_parts.digest = excluded.digest",
        part.artifact_id, part.number, part.size, part.digest, part.tag, now,
    )  # fmt: skip
    await conn.execute(
        "UPDATE artifacts SET expires_at = $2 WHERE id = $1", part.artifact_id, until
    )
    return await conn.fetchrow(
        "SELECT * FROM artifact_parts WHERE artifact_id = $1 AND number = $2",
        part.artifact_id,
        part.number,
    )


async def part_list(conn: Connection, artifact_id: str) -> list[PartRow]:
    """All parts that have arrived, in order."""
    rows = await conn.fetch(
        "SELECT * FROM artifact_parts WHERE artifact_id = $1 ORDER BY number", artifact_id
    )
    return [PartRow(r["artifact_id"], r["number"], r["size"], r["digest"], r["tag"]) for r in rows]


async def parts_missing(
    conn: Connection, artifact_id: str, total: int, limit: int
) -> tuple[int, list[int]]:
    """How many parts have arrived, and the first numbers of those that have not."""
    received = await conn.fetchval(
        "SELECT count(*) FROM artifact_parts WHERE artifact_id = $1", artifact_id
    )
    rows = await conn.fetch(
        "SELECT number FROM generate_series(1, $2::int) AS number EXCEPT"
        " SELECT number FROM artifact_parts WHERE artifact_id = $1 ORDER BY 1 LIMIT $3",
        artifact_id, total, limit,
    )  # fmt: skip
    return int(received or 0), [row["number"] for row in rows]


async def channel_point(conn: Connection, row: Record, channel: str) -> str | None:
    """Let a channel point at an artifact; the one it pointed at before, if another."""
    key = (row["source_id"], row["name"], row["platform"], channel)
    before = await conn.fetchval(
        "SELECT artifact_id FROM artifact_channels WHERE source_id = $1 AND name = $2"
        " AND platform = $3 AND channel = $4 FOR UPDATE",
        *key,
    )
    await conn.execute(
        "INSERT INTO artifact_channels (source_id, name, platform, channel, artifact_id)"
        " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (source_id, name, platform, channel)"
        " DO UPDATE SET artifact_id = excluded.artifact_id",
        *key,
        row["id"],
    )
    return None if before in {None, row["id"]} else str(before)


async def channels_leave(conn: Connection, artifact_id: str) -> list[str]:
    """Let no channel point at an artifact any more; those that did."""
    rows = await conn.fetch(
        "DELETE FROM artifact_channels WHERE artifact_id = $1 RETURNING channel", artifact_id
    )
    return sorted(row["channel"] for row in rows)


@dataclass(frozen=True)
class Sought:
    """What a resolution looks for; a version or a channel, and the platform or `any`."""

    source_ids: Sequence[str]
    name: str
    version: str | None
    channel: str | None
    platform: str | None


async def candidates(conn: Connection, sought: Sought, limit: int) -> list[Record]:
    """Artifacts that have the name and are what was asked for, in these sources."""
    return await conn.fetch(
        f"{_SELECT} WHERE a.source_id = ANY($1::text[]) AND a.name = $2"
        f" AND a.status IN {_USABLE} AND ($3::text IS NULL OR a.version = $3)"
        " AND ($4::text IS NULL OR EXISTS (SELECT FROM artifact_channels c"
        " WHERE c.artifact_id = a.id AND c.channel = $4))"
        " AND ($5::text IS NULL OR a.platform IN ($5, 'any')) ORDER BY a.id DESC LIMIT $6",
        list(sought.source_ids), sought.name, sought.version, sought.channel, sought.platform,
        limit,
    )  # fmt: skip


async def artifacts_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Artifacts of tenants made under a correlation id."""
    source = CorrelatedRows(
        rows="(SELECT *, NULL::text AS project_id FROM artifacts)",
        at="created_at",
        key="id",
        permission=Permission.ARTIFACT_READ,
    )
    sql, args = correlated_sql(source, query)
    return await conn.fetch(sql, *args)


def _all(conditions: Conditions) -> str:
    return " AND ".join(conditions.texts) or "true"
