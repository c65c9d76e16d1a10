"""SQL of artifact sources and their trusted keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gpuaas_contract.artifacts import ArtifactKeyCreate, ArtifactSourceCreate
from gpuaas_platform.kernel.database import Connection, Record

SHARED = ""  # the tier of what the platform shares

_USED = (
    "(SELECT coalesce(sum(a.size), 0)::bigint FROM artifacts a WHERE a.tier = s.tier"
    " AND a.source_id = s.id AND a.status NOT IN ('failed', 'retired')) AS bytes_used"
)


@dataclass(frozen=True)
class NewSource:
    """A source to be."""

    id: str
    org_id: str | None
    address: str
    wanted: ArtifactSourceCreate
    password: bytes | None
    created_by: str
    correlation_id: str
    created_at: datetime


@dataclass(frozen=True)
class Tiers:
    """Whose things a caller may see: everybody's, or what is shared and some tenants'."""

    everywhere: bool
    org_ids: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The tiers themselves."""
        return [SHARED, *self.org_ids]


async def source_insert(conn: Connection, new: NewSource) -> bool:
    """Keep a source; False when its name is taken in its tier."""
    wanted = new.wanted
    inserted = await conn.fetchval(
        "INSERT INTO artifact_sources (id, org_id, name, kind, address, description, plain_http,"
        " username, password, signature_required, project_publish, created_by, correlation_id,"
        " created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
        " ON CONFLICT DO NOTHING RETURNING true",
        new.id, new.org_id, wanted.name, wanted.kind, new.address, wanted.description,
        wanted.plain_http, wanted.username, new.password, wanted.signature_required,
        wanted.project_publish, new.created_by, new.correlation_id, new.created_at,
    )  # fmt: skip
    return bool(inserted)


async def sources_count(conn: Connection, tier: str) -> int:
    """How many sources a tier has; others of the tier wait until this has ended."""
    await _tier_lock(conn, tier)
    return int(
        await conn.fetchval("SELECT count(*) FROM artifact_sources WHERE tier = $1", tier) or 0
    )


async def source_read(conn: Connection, source_id: str) -> Record | None:
    """One source with what it stores."""
    return await conn.fetchrow(
        f"SELECT s.*, {_USED} FROM artifact_sources s WHERE s.id = $1",  # noqa: S608 - code, no values
        source_id,
    )


async def source_lock(conn: Connection, source_id: str) -> Record | None:
    """One source, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM artifact_sources WHERE id = $1 FOR UPDATE", source_id)


async def source_update(conn: Connection, source_id: str, changes: Mapping[str, object]) -> None:
    """Set columns, by names the code knows."""
    columns = ", ".join(f"{name} = ${number}" for number, name in enumerate(changes, 2))
    comma = ", " if columns else ""
    await conn.execute(
        f"UPDATE artifact_sources SET {columns}{comma}revision = revision + 1 WHERE id = $1",  # noqa: S608 - columns are code
        source_id,
        *changes.values(),
    )


async def source_list(
    conn: Connection, tiers: Tiers, after: str | None, limit: int
) -> list[Record]:
    """Sources in reach, newest first: each tier's index is walked, then merged."""
    page = f"ORDER BY id DESC LIMIT {limit:d}"
    behind = "($1::text IS NULL OR id < $1)"
    if tiers.everywhere:
        return await conn.fetch(
            f"SELECT s.*, {_USED} FROM artifact_sources s WHERE {behind} {page}",  # noqa: S608 - code
            after,
        )
    return await conn.fetch(
        f"SELECT s.*, {_USED} FROM (SELECT r.* FROM unnest($2::text[]) AS t(wanted)"  # noqa: S608 - code
        f" CROSS JOIN LATERAL (SELECT * FROM artifact_sources WHERE tier = wanted AND {behind}"
        f" {page}) AS r) AS s {page}",
        after,
        tiers.names,
    )


async def sources_of(conn: Connection, org_id: str) -> list[Record]:
    """Every enabled source a tenant may ever use: what is shared, and its own."""
    return await conn.fetch(
        "SELECT * FROM artifact_sources WHERE tier = ANY($1::text[]) AND enabled ORDER BY id",
        [SHARED, org_id],
    )


async def tier_bytes(conn: Connection, tier: str) -> int:
    """What a tier stores or has reserved; others of the tier wait until this has ended."""
    await _tier_lock(conn, tier)
    return int(
        await conn.fetchval(
            "SELECT coalesce(sum(size), 0) FROM artifacts WHERE tier = $1"
            " AND status NOT IN ('failed', 'retired')",
            tier,
        )
        or 0
    )


@dataclass(frozen=True)
class NewKey:
    """A trusted key to be."""

    id: str
    source: Record
    wanted: ArtifactKeyCreate
    public_key: str
    fingerprint: str
    created_by: str
    correlation_id: str
    created_at: datetime


async def key_insert(conn: Connection, new: NewKey) -> Record | None:
    """Keep a key; None when its name is taken in its source."""
    return await conn.fetchrow(
        "INSERT INTO artifact_keys (id, source_id, org_id, name, public_key, fingerprint,"
        " created_by, correlation_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " ON CONFLICT DO NOTHING RETURNING *",
        new.id, new.source["id"], new.source["org_id"], new.wanted.name, new.public_key,
        new.fingerprint, new.created_by, new.correlation_id, new.created_at,
    )  # fmt: skip


async def key_source_lock(conn: Connection, key_id: str) -> None:
    """Hold the source of a key: taken before keys and artifacts, always."""
    await conn.execute(
        "SELECT FROM artifact_sources s JOIN artifact_keys k ON k.source_id = s.id WHERE k.id = $1"
        " FOR UPDATE OF s",
        key_id,
    )


async def key_lock(conn: Connection, key_id: str) -> Record | None:
    """One key, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM artifact_keys WHERE id = $1 FOR UPDATE", key_id)


async def key_revoke(conn: Connection, key_id: str, reason: str) -> Record | None:
    """Mark a key as revoked."""
    return await conn.fetchrow(
        "UPDATE artifact_keys SET status = 'revoked', revoke_reason = $2 WHERE id = $1 RETURNING *",
        key_id,
        reason,
    )


async def key_list(conn: Connection, source_id: str, after: str | None, limit: int) -> list[Record]:
    """Keys of a source, newest first."""
    return await conn.fetch(
        "SELECT * FROM artifact_keys WHERE source_id = $1 AND ($2::text IS NULL OR id < $2)"
        " ORDER BY id DESC LIMIT $3",
        source_id, after, limit,
    )  # fmt: skip


async def keys_active(conn: Connection, source_id: str) -> list[Record]:
    """Keys whose signatures count, the newest first; held, so that none is revoked meanwhile."""
    return await conn.fetch(
        "SELECT * FROM artifact_keys WHERE source_id = $1 AND status = 'active'"
        " ORDER BY id DESC FOR SHARE",
        source_id,
    )


async def _tier_lock(conn: Connection, tier: str) -> None:
    """A statement of its own: one that waited for the lock would still see what was before it."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('artifacts:' || $1, 0))", tier
    )
