"""SQL of the policy room."""

from datetime import datetime

from gpuaas_contract.policy import RuleSet
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.policy.rules import OverlayRules


async def overlays_at(conn: Connection, place: Place) -> list[Record]:
    """Every overlay that holds at a place: its own and those of the levels above."""
    return await conn.fetch(
        "SELECT * FROM policy_overlays"
        " WHERE org_id IS NULL OR (org_id = $1 AND (project_id IS NULL OR project_id = $2))",
        place.org_id,
        place.project_id,
    )


async def overlay_list(
    conn: Connection, place: Place, after: str | None, limit: int
) -> list[Record]:
    """Overlays written at exactly this place, by name."""
    return await conn.fetch(
        "SELECT * FROM policy_overlays"
        " WHERE org_id IS NOT DISTINCT FROM $1 AND project_id IS NOT DISTINCT FROM $2"
        " AND ($3::text IS NULL OR name > $3) ORDER BY name LIMIT $4",
        place.org_id,
        place.project_id,
        after,
        limit,
    )


async def overlay_read(conn: Connection, overlay_id: str) -> Record | None:
    """One overlay."""
    return await conn.fetchrow("SELECT * FROM policy_overlays WHERE id = $1", overlay_id)


async def overlay_lock(conn: Connection, overlay_id: str) -> Record | None:
    """One overlay, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM policy_overlays WHERE id = $1 FOR UPDATE", overlay_id)


async def overlay_insert(
    conn: Connection, overlay: OverlayRules, description: str, now: datetime
) -> Record | None:
    """The new overlay, or None where its name is taken at its place."""
    return await conn.fetchrow(
        "INSERT INTO policy_overlays"
        " (id, org_id, project_id, name, description, rules, created_at, updated_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING RETURNING *",
        overlay.id,
        overlay.scope.org_id,
        overlay.scope.project_id,
        overlay.name,
        description,
        _stored(overlay.rules),
        now,
    )


async def overlay_update(
    conn: Connection, overlay_id: str, description: str, rules: RuleSet, now: datetime
) -> Record | None:
    """The overlay with its new content."""
    return await conn.fetchrow(
        "UPDATE policy_overlays SET description = $2, rules = $3, revision = revision + 1,"
        " updated_at = $4 WHERE id = $1 RETURNING *",
        overlay_id,
        description,
        _stored(rules),
        now,
    )


async def overlay_delete(conn: Connection, overlay_id: str) -> None:
    """Remove an overlay; the audit keeps what it said."""
    await conn.execute("DELETE FROM policy_overlays WHERE id = $1", overlay_id)


def _stored(rules: RuleSet) -> dict[str, object]:
    return {str(name): one.model_dump(mode="json") for name, one in rules.items()}
