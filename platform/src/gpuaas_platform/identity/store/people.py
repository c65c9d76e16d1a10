"""SQL of people: users and who they are at an OIDC provider."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.posix import FIRST_UID, posix_names
from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class NewUser:
    """A user to be."""

    id: str
    org_id: str | None
    email: str
    display_name: str
    password_hash: str | None
    now: datetime


def email_key(email: str) -> str:
    """An address as it is compared: two spellings of one address are one person."""
    return email.strip().casefold()


async def user_insert(conn: Connection, new: NewUser) -> Record | None:
    """The new user, with a name for machines; None when an account there has the address."""
    row = await conn.fetchrow(
        "INSERT INTO users (id, org_id, email, email_key, display_name, password_hash, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)"
        " ON CONFLICT (org_id, email_key) DO NOTHING RETURNING *",
        new.id,
        new.org_id,
        new.email.strip(),
        email_key(new.email),
        new.display_name,
        new.password_hash,
        new.now,
    )
    if row is not None:
        await _posix_insert(conn, new, FIRST_UID + row["number"])
    return row


async def _posix_insert(conn: Connection, new: NewUser, uid: int) -> None:
    """Keep the first name nobody has; one that another is just being given is waited for."""
    for name in posix_names(new.email.strip(), uid):
        if await conn.fetchval(
            "INSERT INTO posix_accounts (user_id, name, uid) VALUES ($1, $2, $3)"
            " ON CONFLICT (name) DO NOTHING RETURNING true",
            new.id,
            name,
            uid,
        ):
            return
    raise RuntimeError(f"no name is left for {new.id}")


async def posix_name(conn: Connection, user_id: str) -> str | None:
    """What a user is called on machines."""
    found: str | None = await conn.fetchval(
        "SELECT name FROM posix_accounts WHERE user_id = $1", user_id
    )
    return found


async def user_read(conn: Connection, user_id: str) -> Record | None:
    """A user."""
    return await conn.fetchrow("SELECT * FROM users WHERE id = $1", user_id)


async def user_lock(conn: Connection, user_id: str) -> Record | None:
    """A user, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM users WHERE id = $1 FOR UPDATE", user_id)


# A user with the tenant of the account: whether it is active and what people call it.
_WITH_HOME = (
    "SELECT u.*, coalesce(t.active, true) AS home_active, t.display_name AS home_name"
    " FROM users u LEFT JOIN tenants t ON t.id = u.org_id"
)


async def users_by_email(conn: Connection, email: str) -> list[Record]:
    """All accounts with an address, the one used last first."""
    return await conn.fetch(
        f"{_WITH_HOME} WHERE u.email_key = $1 ORDER BY u.last_sign_in_at DESC NULLS LAST, u.id",
        email_key(email),
    )


async def operator_by_email(conn: Connection, email: str) -> Record | None:
    """The account of the platform with an address."""
    return await conn.fetchrow(
        f"{_WITH_HOME} WHERE u.email_key = $1 AND u.org_id IS NULL", email_key(email)
    )


async def passwords_at_one_address(conn: Connection) -> int:
    """How many accounts with a password one address has at most, in the whole installation."""
    found: int = await conn.fetchval(
        "SELECT coalesce(max(n), 1) FROM (SELECT count(*) AS n FROM users"
        " WHERE password_hash IS NOT NULL GROUP BY email_key HAVING count(*) > 1) AS shared"
    )
    return found


async def user_write(conn: Connection, user_id: str, change: dict[str, object]) -> Record | None:
    """Change a user that is held; None when another account there has the address."""
    email = change.get("email")
    if email is not None and await conn.fetchval(
        "SELECT true FROM users o JOIN users u ON u.id = $2 WHERE o.email_key = $1 AND o.id <> u.id"
        " AND o.org_id IS NOT DISTINCT FROM u.org_id",
        email_key(str(email)),
        user_id,
    ):
        return None
    return await conn.fetchrow(
        "UPDATE users SET email = coalesce($2, email), email_key = coalesce($3, email_key),"
        " display_name = coalesce($4, display_name), active = coalesce($5, active),"
        " revision = revision + 1 WHERE id = $1 RETURNING *",
        user_id,
        email,
        None if email is None else email_key(str(email)),
        change.get("display_name"),
        change.get("active"),
    )


async def password_write(conn: Connection, user_id: str, password_hash: str) -> None:
    """Give a user another password."""
    await conn.execute(
        "UPDATE users SET password_hash = $2, revision = revision + 1 WHERE id = $1",
        user_id,
        password_hash,
    )


async def password_rehash(conn: Connection, user_id: str, password_hash: str) -> None:
    """Keep the same password in today's form."""
    await conn.execute("UPDATE users SET password_hash = $2 WHERE id = $1", user_id, password_hash)


async def signed_in(conn: Connection, user_id: str, now: datetime) -> None:
    """Remember when a user last came."""
    await conn.execute("UPDATE users SET last_sign_in_at = $2 WHERE id = $1", user_id, now)


@dataclass(frozen=True)
class UserFilter:
    """Which users a list shows: those managed in reach, and those with a role there."""

    reach: Reach
    org_id: str | None
    email: str | None
    before: str | None
    count: int


async def users_page(conn: Connection, wanted: UserFilter) -> list[Record]:
    """Users in reach, newest first."""
    return await conn.fetch(
        "SELECT * FROM users u WHERE ($1 OR u.org_id = ANY ($2::text[]) OR EXISTS ("
        "   SELECT FROM role_bindings b WHERE b.principal_id = u.id"
        "   AND b.org_id = ANY ($2::text[])))"
        " AND ($3::text IS NULL OR u.org_id = $3 OR EXISTS ("
        "   SELECT FROM role_bindings b WHERE b.principal_id = u.id AND b.org_id = $3))"
        " AND ($4::text IS NULL OR u.email_key = $4) AND u.id < $5 ORDER BY u.id DESC LIMIT $6",
        wanted.reach.everywhere,
        list(wanted.reach.org_ids),
        wanted.org_id,
        None if wanted.email is None else email_key(wanted.email),
        wanted.before or LAST,
        wanted.count,
    )


async def user_places(conn: Connection, user_id: str) -> list[Record]:
    """Where a user holds a role."""
    return await conn.fetch(
        "SELECT DISTINCT org_id, project_id FROM role_bindings WHERE principal_id = $1", user_id
    )


@dataclass(frozen=True)
class PersonFilter:
    """Which people of a project a list shows."""

    project_id: str
    now: datetime
    after: int
    count: int


async def project_people(conn: Connection, wanted: PersonFilter) -> list[Record]:
    """Users with a role in the project or its tenant, by their number on machines."""
    return await conn.fetch(
        "SELECT u.id, u.email, u.display_name, a.name AS posix_name, a.uid AS posix_uid,"
        " u.active AND coalesce(home.active, true) AS active, jsonb_agg("
        "   jsonb_build_array(b.role_name, b.role_id, r.permissions) ORDER BY b.id) AS held"
        " FROM projects p JOIN role_bindings b ON b.project_id = p.id"
        "   OR (b.org_id = p.org_id AND b.project_id IS NULL)"
        " JOIN users u ON u.id = b.user_id JOIN posix_accounts a ON a.user_id = u.id"
        " LEFT JOIN tenants home ON home.id = u.org_id LEFT JOIN roles r ON r.id = b.role_id"
        " WHERE p.id = $1 AND b.source <> 'break_glass'"
        " AND (b.expires_at IS NULL OR b.expires_at > $2)"
        " AND a.uid > $3 GROUP BY u.id, a.user_id, home.id ORDER BY a.uid LIMIT $4",
        wanted.project_id,
        wanted.now,
        wanted.after,
        wanted.count,
    )


async def user_projects(conn: Connection, user_id: str) -> list[Record]:
    """The projects in which a user holds a role of that very project."""
    return await conn.fetch(
        "SELECT DISTINCT org_id, project_id FROM role_bindings"
        " WHERE user_id = $1 AND project_id IS NOT NULL ORDER BY project_id",
        user_id,
    )


@dataclass(frozen=True)
class Subject:
    """Somebody at a provider; without a provider's id it is the operator's."""

    provider_id: str | None
    issuer: str
    subject: str
    email: str | None


_ACCOUNTS = f"""
SELECT a.*, CASE
    WHEN EXISTS (SELECT FROM user_identities i WHERE i.user_id = a.id AND i.issuer = $2
        AND i.provider_id IS NOT DISTINCT FROM $1 AND i.subject = $3) THEN 'this_person'
    WHEN EXISTS (SELECT FROM user_identities i WHERE i.user_id = a.id AND i.issuer = $2
        AND i.provider_id IS NOT DISTINCT FROM $1) THEN 'another_person'
    ELSE 'none' END AS link
FROM ({_WITH_HOME}) AS a
WHERE a.email_key = $4 OR a.id IN (SELECT user_id FROM user_identities
    WHERE provider_id IS NOT DISTINCT FROM $1 AND issuer = $2 AND subject = $3)
ORDER BY a.last_sign_in_at DESC NULLS LAST, a.id
"""  # noqa: S608 - code, no values


async def accounts_of(conn: Connection, who: Subject) -> list[Record]:
    """Accounts linked to somebody at a provider, and those with their address.

    `link` says whether an account is linked to this person there, to another one, or to none.
    """
    return await conn.fetch(
        _ACCOUNTS,
        who.provider_id,
        who.issuer,
        who.subject,
        None if who.email is None else email_key(who.email),
    )


async def identity_insert(conn: Connection, who: Subject, user_id: str, now: datetime) -> bool:
    """Know somebody at a provider as a user; False when they are known as them already."""
    made = await conn.fetchval(
        "INSERT INTO user_identities (provider_id, issuer, subject, user_id, created_at)"
        " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING true",
        who.provider_id,
        who.issuer,
        who.subject,
        user_id,
        now,
    )
    return bool(made)


async def password_remove(conn: Connection, user_id: str) -> None:
    """Let a user in through a provider only."""
    await conn.execute(
        "UPDATE users SET password_hash = NULL, revision = revision + 1 WHERE id = $1", user_id
    )
