"""SQL of tenants' identity providers, their domains, and sign-ins that wait for the person."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.database import Connection, Record

# A provider with whether its tenant is active and has a domain.
_PROVIDER = (
    "SELECT p.*, t.active AS home_active, EXISTS (SELECT FROM tenant_domains d"
    "   WHERE d.org_id = p.org_id AND d.verified_at IS NOT NULL) AS has_domain"
    " FROM identity_providers p JOIN tenants t ON t.id = p.org_id"
)


@dataclass(frozen=True)
class NewProvider:
    """A provider to be."""

    id: str
    org_id: str
    name: str
    issuer: str
    client_id: str
    client_secret: bytes | None
    scopes: str
    groups_claim: str
    create_users: bool
    trust_email: bool
    problem: str | None
    created_by: str
    now: datetime


async def provider_insert(conn: Connection, new: NewProvider) -> Record:
    """Keep a provider."""
    await conn.execute(
        "INSERT INTO identity_providers (id, org_id, name, issuer, client_id, client_secret,"
        " scopes, groups_claim, create_users, trust_email, problem, created_by, created_at,"
        " checked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)",
        new.id,
        new.org_id,
        new.name,
        new.issuer,
        new.client_id,
        new.client_secret,
        new.scopes,
        new.groups_claim,
        new.create_users,
        new.trust_email,
        new.problem,
        new.created_by,
        new.now,
    )
    return await provider_required(conn, new.id)


async def provider_read(conn: Connection, provider_id: str) -> Record | None:
    """A provider."""
    return await conn.fetchrow(f"{_PROVIDER} WHERE p.id = $1", provider_id)


async def provider_required(conn: Connection, provider_id: str) -> Record:
    """A provider that was just written."""
    row = await provider_read(conn, provider_id)
    if row is None:
        raise RuntimeError("a provider that was just written is gone")
    return row


async def provider_lock(conn: Connection, provider_id: str) -> Record | None:
    """A provider, held until the transaction ends."""
    return await conn.fetchrow(f"{_PROVIDER} WHERE p.id = $1 FOR UPDATE OF p", provider_id)


async def provider_write(conn: Connection, provider_id: str, change: dict[str, object]) -> Record:
    """Change a provider that is held."""
    await conn.execute(
        "UPDATE identity_providers SET name = coalesce($2, name),"
        " client_id = coalesce($3, client_id), client_secret = coalesce($4, client_secret),"
        " scopes = coalesce($5, scopes), groups_claim = coalesce($6, groups_claim),"
        " create_users = coalesce($7, create_users), trust_email = coalesce($8, trust_email),"
        " active = coalesce($9, active), revision = revision + 1 WHERE id = $1",
        provider_id,
        change.get("name"),
        change.get("client_id"),
        change.get("client_secret"),
        change.get("scopes"),
        change.get("groups_claim"),
        change.get("create_users"),
        change.get("trust_email"),
        change.get("active"),
    )
    return await provider_required(conn, provider_id)


async def provider_checked(
    conn: Connection, provider_id: str, problem: str | None, now: datetime
) -> Record:
    """Remember what a look at a provider found."""
    await conn.execute(
        "UPDATE identity_providers SET problem = $2, checked_at = $3 WHERE id = $1",
        provider_id,
        problem,
        now,
    )
    return await provider_required(conn, provider_id)


async def provider_delete(conn: Connection, provider_id: str) -> None:
    """Remove a provider; its links and waiting sign-ins go with it."""
    await conn.execute("DELETE FROM identity_providers WHERE id = $1", provider_id)


async def providers_page(
    conn: Connection, org_id: str, before: str | None, count: int
) -> list[Record]:
    """A tenant's providers, newest first."""
    return await conn.fetch(
        f"{_PROVIDER} WHERE p.org_id = $1 AND p.id < $2 ORDER BY p.id DESC LIMIT $3",
        org_id,
        before or LAST,
        count,
    )


async def provider_people(conn: Connection, provider_id: str) -> list[str]:
    """Users that are linked to somebody at a provider."""
    rows = await conn.fetch(
        "SELECT DISTINCT user_id FROM user_identities WHERE provider_id = $1 ORDER BY user_id",
        provider_id,
    )
    return [row["user_id"] for row in rows]


async def provider_mappings(conn: Connection, provider_id: str) -> list[str]:
    """Group mappings of a provider."""
    rows = await conn.fetch(
        "SELECT id FROM group_mappings WHERE provider_id = $1 ORDER BY id", provider_id
    )
    return [row["id"] for row in rows]


@dataclass(frozen=True)
class NewDomain:
    """A claim to be."""

    id: str
    org_id: str
    domain: str
    challenge: str
    created_by: str
    now: datetime


async def domain_insert(conn: Connection, new: NewDomain) -> Record | None:
    """The new claim, or None when the tenant has made it already."""
    return await conn.fetchrow(
        "INSERT INTO tenant_domains (id, org_id, domain, challenge, created_by, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (org_id, domain) DO NOTHING RETURNING *",
        new.id,
        new.org_id,
        new.domain,
        new.challenge,
        new.created_by,
        new.now,
    )


async def domain_read(conn: Connection, domain_id: str) -> Record | None:
    """A claim."""
    return await conn.fetchrow("SELECT * FROM tenant_domains WHERE id = $1", domain_id)


async def domain_lock(conn: Connection, domain_id: str) -> Record | None:
    """A claim, held with all others to its domain until the transaction ends."""
    rows = await conn.fetch(
        "SELECT * FROM tenant_domains WHERE domain ="
        " (SELECT domain FROM tenant_domains WHERE id = $1) ORDER BY id FOR UPDATE",
        domain_id,
    )
    return next((row for row in rows if row["id"] == domain_id), None)


async def domain_verify(
    conn: Connection, domain_id: str, verified_by: str, now: datetime
) -> Record | None:
    """Give a tenant the domain it claims; None when another tenant has it."""
    return await conn.fetchrow(
        "WITH claim AS (SELECT id, domain FROM tenant_domains WHERE id = $1)"
        " UPDATE tenant_domains d SET verified_at = $3, verified_by = $2 FROM claim"
        " WHERE d.id = claim.id AND NOT EXISTS (SELECT FROM tenant_domains o"
        "   WHERE o.domain = claim.domain AND o.id <> claim.id AND o.verified_at IS NOT NULL)"
        " RETURNING d.*",
        domain_id,
        verified_by,
        now,
    )


async def domain_delete(conn: Connection, domain_id: str) -> None:
    """Withdraw a claim."""
    await conn.execute("DELETE FROM tenant_domains WHERE id = $1", domain_id)


async def domains_page(
    conn: Connection, org_id: str, before: str | None, count: int
) -> list[Record]:
    """A tenant's claims, newest first."""
    return await conn.fetch(
        "SELECT * FROM tenant_domains WHERE org_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        org_id,
        before or LAST,
        count,
    )


async def domain_owner(conn: Connection, domain: str) -> str | None:
    """The active tenant that has a domain; it keeps it until the transaction ends."""
    found: str | None = await conn.fetchval(
        "SELECT d.org_id FROM tenant_domains d JOIN tenants t ON t.id = d.org_id"
        " WHERE d.domain = $1 AND d.verified_at IS NOT NULL AND t.active FOR SHARE OF d",
        domain,
    )
    return found


@dataclass(frozen=True)
class NewPending:
    """A sign-in that waits."""

    secret_hash: bytes
    provider_id: str | None
    issuer: str
    subject: str
    email: str | None
    email_verified: bool
    name: str | None
    groups: list[str]
    now: datetime
    expires_at: datetime


async def pending_insert(conn: Connection, new: NewPending) -> None:
    """Keep a sign-in that waits."""
    await conn.execute(
        "INSERT INTO pending_sign_ins (secret_hash, provider_id, issuer, subject, email,"
        " email_verified, name, groups, created_at, expires_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        new.secret_hash,
        new.provider_id,
        new.issuer,
        new.subject,
        new.email,
        new.email_verified,
        new.name,
        new.groups,
        new.now,
        new.expires_at,
    )


async def pending_read(conn: Connection, secret_hash: bytes, now: datetime) -> Record | None:
    """A sign-in that still waits."""
    return await conn.fetchrow(
        "SELECT * FROM pending_sign_ins WHERE secret_hash = $1 AND expires_at > $2",
        secret_hash,
        now,
    )


async def pending_take(conn: Connection, secret_hash: bytes) -> bool:
    """End a sign-in that waits; False when another request was first."""
    taken = await conn.fetchval(
        "DELETE FROM pending_sign_ins WHERE secret_hash = $1 RETURNING true", secret_hash
    )
    return bool(taken)


async def pending_sweep(conn: Connection, before: datetime) -> None:
    """Forget sign-ins that ended before a time."""
    await conn.execute("DELETE FROM pending_sign_ins WHERE expires_at < $1", before)
