"""SQL of what requests are authenticated by: access tokens, personal tokens, browser sessions.

`tokens_resolve` is the hot path: one statement for every request, by a unique index.
"""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.database import Connection, Record

# The token, whether everything it hangs on is alive, and what its principal holds now. Bindings
# inside a deactivated tenant or project do not count. Each hash is looked up by itself (OFFSET 0 is
# the fence that keeps the planner from joining all of them), and so are the few rows a binding
# hangs on, so that no plan ever reads a whole table.
_RESOLVE = """
SELECT asked.hash, found.*
FROM unnest($1::bytea[]) AS asked (hash), LATERAL (
    SELECT t.id, t.kind, t.user_id, t.service_account_id, t.expires_at, t.idle_until,
           t.last_used_at, t.permissions, t.org_id AS narrow_org, t.project_id AS narrow_project,
           coalesce(u.org_id, s.org_id) AS org_id, s.project_id, k.expires_at AS key_expires_at,
           t.revoked_at IS NULL AND k.revoked_at IS NULL AND coalesce(home.active, true)
           AND CASE WHEN t.user_id IS NULL THEN s.active AND p.active ELSE u.active END AS alive,
           CASE WHEN t.kind = 'session' AND t.method = 'password' THEN
               (coalesce(home.second_factor_required, false) OR EXISTS (
                   SELECT FROM role_bindings b JOIN tenants o ON o.id = b.org_id
                   WHERE b.principal_id = t.user_id AND o.second_factor_required
                     AND (b.expires_at IS NULL OR b.expires_at > $2)))
               AND NOT EXISTS (SELECT FROM second_factors f
                               WHERE f.user_id = t.user_id AND f.confirmed_at IS NOT NULL)
               ELSE false END AS factor_due,
           held.bindings
    FROM tokens t
    LEFT JOIN users u ON u.id = t.user_id
    LEFT JOIN service_accounts s ON s.id = t.service_account_id
    LEFT JOIN service_account_keys k ON k.id = t.key_id
    LEFT JOIN projects p ON p.id = s.project_id
    LEFT JOIN tenants home ON home.id = coalesce(u.org_id, s.org_id)
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(jsonb_build_array(
                   b.role_name, (SELECT r.permissions FROM roles r WHERE r.id = b.role_id),
                   b.org_id, b.project_id)) AS bindings
        FROM role_bindings b
        WHERE b.principal_id = coalesce(t.user_id, t.service_account_id)
          AND (b.expires_at IS NULL OR b.expires_at > $2)
          AND coalesce((SELECT o.active FROM tenants o WHERE o.id = b.org_id), true)
          AND coalesce((SELECT q.active FROM projects q WHERE q.id = b.project_id), true)
    ) AS held ON true
    WHERE t.hash = asked.hash
    OFFSET 0
) AS found
"""


async def tokens_resolve(conn: Connection, hashes: list[bytes], now: datetime) -> list[Record]:
    """Tokens by their hashes, with what their principals hold at this moment."""
    return await conn.fetch(_RESOLVE, hashes, now)


async def token_touch(
    conn: Connection, token_id: str, now: datetime, idle_until: datetime | None
) -> None:
    """Remember the use of a token, and let an idle session live on."""
    await conn.execute(
        "UPDATE tokens SET last_used_at = $2, idle_until = coalesce($3, idle_until) WHERE id = $1",
        token_id,
        now,
        idle_until,
    )


@dataclass(frozen=True)
class NewToken:
    """A token to be."""

    id: str
    kind: str
    hash: bytes
    now: datetime
    expires_at: datetime
    user_id: str | None = None
    service_account_id: str | None = None
    key_id: str | None = None
    name: str = ""
    permissions: list[str] | None = None
    org_id: str | None = None
    project_id: str | None = None
    idle_until: datetime | None = None
    source: str | None = None
    method: str | None = None


async def token_insert(conn: Connection, new: NewToken) -> Record:
    """Keep a token."""
    row = await conn.fetchrow(
        "INSERT INTO tokens (id, kind, hash, created_at, expires_at, user_id, service_account_id,"
        " key_id, name, permissions, org_id, project_id, idle_until, source, method)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) RETURNING *",
        new.id,
        new.kind,
        new.hash,
        new.now,
        new.expires_at,
        new.user_id,
        new.service_account_id,
        new.key_id,
        new.name,
        new.permissions,
        new.org_id,
        new.project_id,
        new.idle_until,
        new.source,
        new.method,
    )
    if row is None:
        raise RuntimeError("an inserted token did not come back")
    return row


async def token_lock(conn: Connection, token_id: str, kind: str) -> Record | None:
    """A token of a kind, held until the transaction ends."""
    return await conn.fetchrow(
        "SELECT * FROM tokens WHERE id = $1 AND kind = $2 FOR UPDATE", token_id, kind
    )


async def token_revoke(conn: Connection, token_id: str, now: datetime) -> None:
    """End a token; the first time counts."""
    await conn.execute(
        "UPDATE tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1", token_id, now
    )


@dataclass(frozen=True)
class Ending:
    """Which of a user's credentials end: the sessions but for `keep`, and the personal tokens."""

    user_id: str
    now: datetime
    keep: str | None = None
    tokens: bool = True


async def credentials_end(conn: Connection, ending: Ending) -> list[str]:
    """End a user's sessions and personal tokens; the kind of each that was in force."""
    rows = await conn.fetch(
        "UPDATE tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL"
        " AND id IS DISTINCT FROM $3 AND (kind = 'session' OR $4)"
        " RETURNING kind, expires_at > $2 AND coalesce(idle_until > $2, true) AS in_force",
        ending.user_id,
        ending.now,
        ending.keep,
        ending.tokens,
    )
    return [row["kind"] for row in rows if row["in_force"]]


async def token_narrowed(conn: Connection, token_id: str | None) -> bool:
    """Whether a token may do less than its owner."""
    return bool(
        await conn.fetchval(
            "SELECT permissions IS NOT NULL OR org_id IS NOT NULL FROM tokens WHERE id = $1",
            token_id,
        )
    )


async def tokens_end(conn: Connection, user_id: str, now: datetime) -> None:
    """End all that a user is authenticated by, and what a terminal was promised as them."""
    await conn.execute(
        "WITH promised AS (UPDATE device_sign_ins SET status = 'denied'"
        "   WHERE user_id = $1 AND status = 'approved')"
        " UPDATE tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL",
        user_id,
        now,
    )


@dataclass(frozen=True)
class TokenFilter:
    """Which of a user's tokens a list shows."""

    user_id: str
    kind: str
    now: datetime
    before: str | None
    count: int


async def tokens_page(conn: Connection, wanted: TokenFilter) -> list[Record]:
    """A user's tokens that have not ended, newest first."""
    return await conn.fetch(
        "SELECT * FROM tokens WHERE user_id = $1 AND kind = $2 AND revoked_at IS NULL"
        " AND expires_at > $3 AND (idle_until IS NULL OR idle_until > $3) AND id < $4"
        " ORDER BY id DESC LIMIT $5",
        wanted.user_id,
        wanted.kind,
        wanted.now,
        wanted.before or LAST,
        wanted.count,
    )


async def tokens_sweep(conn: Connection, before: datetime) -> None:
    """Forget tokens that ended before a time; until then they answer that they have expired."""
    await conn.execute(
        "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE expires_at < $1 LIMIT 10000)",
        before,
    )
