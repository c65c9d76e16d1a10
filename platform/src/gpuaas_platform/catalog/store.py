"""SQL of the catalog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpuaas_contract.catalog import AppCreate
from gpuaas_contract.semver import version_sort_key
from gpuaas_contract.states import VersionStatus
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class Sight:
    """Which apps a caller sees: all, or those these tenants are entitled to."""

    everything: bool
    org_ids: tuple[str, ...]


@dataclass(frozen=True)
class NewVersion:
    """A version about to be written."""

    id: str
    app_id: str
    version: str
    status: VersionStatus
    manifest: dict[str, Any]
    digest: str
    package_version: str
    notes: str
    now: datetime


@dataclass(frozen=True)
class NewEntitlement:
    """An entitlement about to be written."""

    id: str
    app_id: str
    place: Place
    versions: Sequence[str] | None
    settings: dict[str, Any]
    now: datetime


async def app_insert(
    conn: Connection, app_id: str, body: AppCreate, now: datetime
) -> Record | None:
    """The new app, or None where its slug is taken."""
    return await conn.fetchrow(
        "INSERT INTO apps (id, slug, display_name, description, publisher, kind_label, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (slug) DO NOTHING"
        " RETURNING *, NULL AS latest_version",
        app_id, body.slug, body.display_name, body.description, body.publisher, body.kind_label,
        now,
    )  # fmt: skip


async def app_update(conn: Connection, app_id: str, words: dict[str, str | None]) -> None:
    """Change the words that are given."""
    await conn.execute(
        "UPDATE apps SET display_name = coalesce($2, display_name),"
        " description = coalesce($3, description), publisher = coalesce($4, publisher),"
        " kind_label = coalesce($5, kind_label), revision = revision + 1 WHERE id = $1",
        app_id, words.get("display_name"), words.get("description"), words.get("publisher"),
        words.get("kind_label"),
    )  # fmt: skip


async def app_lock(conn: Connection, slug: str) -> Record | None:
    """One app, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM apps WHERE slug = $1 FOR UPDATE", slug)


async def app_read(conn: Connection, slug: str, sight: Sight) -> Record | None:
    """One app in sight, also of a tenant that was entitled once: its instances still need it."""
    rows = await _apps(conn, sight, "", 1, slug)
    return rows[0] if rows else None


async def app_list(conn: Connection, sight: Sight, after: str | None, limit: int) -> list[Record]:
    """Apps in sight, by slug."""
    return await _apps(conn, sight, after or "", limit, None)


async def _apps(
    conn: Connection, sight: Sight, after: str, limit: int, slug: str | None
) -> list[Record]:
    return await conn.fetch(
        "SELECT a.*, (SELECT v.version FROM app_versions v WHERE v.app_id = a.id"
        " AND v.status = 'published' AND NOT v.prerelease ORDER BY v.sort_key DESC LIMIT 1)"
        " AS latest_version FROM apps a"
        " WHERE a.slug > $3 AND ($5::text IS NULL OR a.slug = $5)"
        " AND ($1 OR EXISTS (SELECT FROM entitlements e WHERE e.app_id = a.id"
        " AND e.project_id IS NULL AND e.org_id = ANY($2)"
        " AND (e.revoked_at IS NULL OR $5::text IS NOT NULL)))"
        " ORDER BY a.slug LIMIT $4",
        sight.everything, list(sight.org_ids), after, limit, slug,
    )  # fmt: skip


async def version_insert(conn: Connection, new: NewVersion) -> Record | None:
    """The new version, or None where the app has one of this number."""
    published = new.now if new.status is VersionStatus.PUBLISHED else None
    return await conn.fetchrow(
        "INSERT INTO app_versions (id, app_id, version, sort_key, prerelease, status, manifest,"
        " digest, package_version, notes, created_at, published_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        " ON CONFLICT (app_id, version) DO NOTHING RETURNING *",
        new.id, new.app_id, new.version, version_sort_key(new.version), "-" in new.version,
        new.status, new.manifest, new.digest, new.package_version, new.notes, new.now, published,
    )  # fmt: skip


async def version_read(conn: Connection, slug: str, version: str) -> Record | None:
    """One version with its app's slug."""
    return await conn.fetchrow(
        "SELECT v.*, a.slug FROM app_versions v JOIN apps a ON a.id = v.app_id"
        " WHERE a.slug = $1 AND v.version = $2",
        slug, version,
    )  # fmt: skip


async def summaries_of(conn: Connection, versions: Mapping[str, str]) -> dict[str, str]:
    """What one version of each app says the app is, by the app's slug."""
    rows = await conn.fetch(
        "SELECT a.slug, v.manifest->>'summary' AS summary FROM unnest($1::text[], $2::text[])"
        " AS w (slug, version) JOIN apps a ON a.slug = w.slug"
        " JOIN app_versions v ON v.app_id = a.id AND v.version = w.version",
        list(versions), list(versions.values()),
    )  # fmt: skip
    return {row["slug"]: row["summary"] or "" for row in rows}


async def version_lock(conn: Connection, slug: str, version: str) -> Record | None:
    """One version, held until the transaction ends."""
    return await conn.fetchrow(
        "SELECT v.*, a.slug FROM app_versions v JOIN apps a ON a.id = v.app_id"
        " WHERE a.slug = $1 AND v.version = $2 FOR UPDATE OF v",
        slug, version,
    )  # fmt: skip


async def version_list(
    conn: Connection, app_id: str, before: str | None, limit: int, *, drafts: bool
) -> list[Record]:
    """Versions of an app without their manifests, highest first."""
    return await conn.fetch(
        "SELECT id, app_id, version, sort_key, prerelease, status, digest, package_version, notes,"
        " message, replacement, revision, created_at, published_at FROM app_versions"
        " WHERE app_id = $1 AND ($2::text IS NULL OR sort_key < $2) AND ($3 OR status <> 'draft')"
        " ORDER BY sort_key DESC LIMIT $4",
        app_id, before, drafts, limit,
    )  # fmt: skip


async def versions_of(conn: Connection, app_ids: Sequence[str]) -> list[Record]:
    """Published versions of several apps, highest first, without their manifests."""
    return await conn.fetch(
        "SELECT app_id, version, prerelease, status, message, replacement FROM app_versions"
        " WHERE app_id = ANY($1) AND status <> 'draft' ORDER BY app_id, sort_key DESC",
        list(app_ids),
    )


async def version_latest(conn: Connection, app_id: str) -> Record | None:
    """The highest published version, a release before any pre-release."""
    return await conn.fetchrow(
        "SELECT * FROM app_versions WHERE app_id = $1 AND status = 'published'"
        " ORDER BY prerelease, sort_key DESC LIMIT 1",
        app_id,
    )


async def version_status_set(
    conn: Connection,
    version_id: str,
    status: VersionStatus,
    words: tuple[str, str | None, datetime],
) -> Record | None:
    """Move a version along its life, with the message and replacement that go with it."""
    message, replacement, now = words
    return await conn.fetchrow(
        "UPDATE app_versions SET status = $2, message = $3, replacement = $4,"
        " published_at = CASE WHEN $2 = 'published' THEN coalesce(published_at, $5)"
        " ELSE published_at END, revision = revision + 1 WHERE id = $1 RETURNING *",
        version_id, status, message, replacement, now,
    )  # fmt: skip


async def entitlement_insert(conn: Connection, new: NewEntitlement) -> Record | None:
    """The new entitlement, or None where the place has one for this app."""
    return await conn.fetchrow(
        "INSERT INTO entitlements"
        " (id, app_id, org_id, project_id, versions, settings, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING *",
        new.id, new.app_id, new.place.org_id, new.place.project_id, new.versions, new.settings,
        new.now,
    )  # fmt: skip


async def entitlement_read(conn: Connection, entitlement_id: str) -> Record | None:
    """One entitlement with its app's slug."""
    return await conn.fetchrow(
        "SELECT e.*, a.slug FROM entitlements e JOIN apps a ON a.id = e.app_id"
        " WHERE e.id = $1 AND e.revoked_at IS NULL",
        entitlement_id,
    )


async def entitlement_lock(conn: Connection, entitlement_id: str) -> Record | None:
    """One entitlement, held until the transaction ends."""
    return await conn.fetchrow(
        "SELECT e.*, a.slug FROM entitlements e JOIN apps a ON a.id = e.app_id"
        " WHERE e.id = $1 AND e.revoked_at IS NULL FOR UPDATE OF e",
        entitlement_id,
    )


async def entitlement_update(
    conn: Connection, entitlement_id: str, versions: Sequence[str] | None, settings: dict[str, Any]
) -> Record | None:
    """The entitlement with its new content."""
    return await conn.fetchrow(
        "UPDATE entitlements SET versions = $2, settings = $3, revision = revision + 1"
        " WHERE id = $1 RETURNING *",
        entitlement_id, versions, settings,
    )  # fmt: skip


async def entitlement_revoke(conn: Connection, entitlement_id: str, now: datetime) -> None:
    """Take an entitlement back."""
    await conn.execute(
        "UPDATE entitlements SET revoked_at = $2, revision = revision + 1 WHERE id = $1",
        entitlement_id, now,
    )  # fmt: skip


async def entitlement_list(
    conn: Connection, place: Place, before: str | None, limit: int
) -> list[Record]:
    """Entitlements given at exactly this place, newest first."""
    return await conn.fetch(
        "SELECT e.*, a.slug FROM entitlements e JOIN apps a ON a.id = e.app_id"
        " WHERE e.org_id = $1 AND e.project_id IS NOT DISTINCT FROM $2 AND e.revoked_at IS NULL"
        " AND ($3::text IS NULL OR e.id < $3) ORDER BY e.id DESC LIMIT $4",
        place.org_id, place.project_id, before, limit,
    )  # fmt: skip


async def entitlements_at(conn: Connection, place: Place, app_ids: Sequence[str]) -> list[Record]:
    """Entitlements to these apps that hold at a place: the tenant's, then the project's."""
    return await conn.fetch(
        "SELECT * FROM entitlements WHERE org_id = $1 AND app_id = ANY($3) AND revoked_at IS NULL"
        " AND (project_id IS NULL OR project_id = $2) ORDER BY project_id NULLS FIRST",
        place.org_id, place.project_id, list(app_ids),
    )  # fmt: skip
