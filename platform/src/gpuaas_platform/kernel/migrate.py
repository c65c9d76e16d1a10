"""Migrations: numbered SQL files, applied in order, each in one transaction.

Called by `main.py` before serving and by tests. Files of a released revision never change: their
checksums are kept and compared. A database from a newer platform is refused.
"""

import hashlib
import re
from dataclasses import dataclass
from importlib import resources
from typing import Final

import asyncpg

SCHEMA: Final = "gpuaas"
APP_ROLE: Final = "gpuaas_app"
_LOCK: Final = 0x6770_7561_6173  # "gpuaas"
_FILE = re.compile(r"(\d{4})_([a-z_]+)\.sql")

_PREPARE: Final = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.schema_revisions (
    revision int PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
"""

_ROLE: Final = f"""
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') THEN
        CREATE ROLE {APP_ROLE} NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- another database of this cluster made it just now
END $$;
GRANT {APP_ROLE} TO CURRENT_USER;
GRANT USAGE ON SCHEMA {SCHEMA} TO {APP_ROLE};
GRANT SELECT ON {SCHEMA}.schema_revisions TO {APP_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA {SCHEMA}
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APP_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA {SCHEMA} GRANT USAGE ON SEQUENCES TO {APP_ROLE};
"""


class SchemaError(Exception):
    """The database's schema cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Migration:
    """One revision of the schema."""

    revision: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Digest by which a changed file is noticed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """All revisions this platform knows, in order."""
    found = []
    for entry in resources.files("gpuaas_platform.migrations").iterdir():
        match = _FILE.fullmatch(entry.name)
        if match is not None:
            found.append(Migration(int(match[1]), match[2], entry.read_text()))
    found.sort(key=lambda migration: migration.revision)
    if [m.revision for m in found] != list(range(1, len(found) + 1)):
        raise SchemaError(f"revisions are not 1..{len(found)}: {[m.revision for m in found]}")
    return found


async def migrate(url: str, *, up_to: int | None = None) -> int:
    """Bring the database to the newest revision (or `up_to`); returns the revision reached."""
    known = migrations()
    connection = await _connected(url)
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        await connection.execute("SET client_min_messages = warning")
        await connection.execute(_PREPARE)
        done = await _check(connection, known)
        await _prepare_role(connection)
        for migration in known[done:up_to]:
            await _apply(connection, migration)
            done = migration.revision
        return done
    finally:
        await connection.close()


async def _connected(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    try:
        return await asyncpg.connect(url)
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise SchemaError(f"The database does not let the platform in: {error}") from error


async def _check(connection: "asyncpg.Connection[asyncpg.Record]", known: list[Migration]) -> int:
    """How many revisions the database has; refuses what this platform cannot use."""
    await connection.execute(f"SET search_path = {SCHEMA}")
    rows = await connection.fetch(
        "SELECT revision, name, checksum FROM schema_revisions ORDER BY revision"
    )
    if len(rows) > len(known):
        raise SchemaError(
            f"The database is at schema revision {rows[-1]['revision']}, this platform knows up to"
            f" {len(known)}. Start a platform at least as new as the one that wrote it."
        )
    for row, migration in zip(rows, known, strict=False):
        if row["checksum"] != migration.checksum:
            raise SchemaError(
                f"Schema revision {row['revision']} ({row['name']}) in the database differs from"
                " this platform's. Start the release that made this database."
            )
    return len(rows)


async def _prepare_role(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    try:
        await connection.execute(_ROLE)
    except asyncpg.InsufficientPrivilegeError as error:
        raise SchemaError(
            f"The database user may not create the role {APP_ROLE}. Let an administrator run:"
            f" CREATE ROLE {APP_ROLE} NOLOGIN; GRANT {APP_ROLE} TO <this user> WITH ADMIN OPTION;"
        ) from error


async def _apply(connection: "asyncpg.Connection[asyncpg.Record]", migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO schema_revisions (revision, name, checksum) VALUES ($1, $2, $3)",
                migration.revision,
                migration.name,
                migration.checksum,
            )
    except asyncpg.PostgresError as error:
        raise SchemaError(
            f"Schema revision {migration.revision} ({migration.name}) could not be applied, and"
            f" nothing of it was: {error}"
        ) from error
