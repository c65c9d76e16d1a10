"""Migrations: up from empty and from every earlier revision; a changed file is noticed."""

import asyncpg
import pytest

from gpuaas_platform.kernel import migrate as migrating
from gpuaas_platform.kernel.migrate import Migration, SchemaError, migrate, migrations


@pytest.fixture
async def empty_url(postgres_url: str) -> str:
    admin = await asyncpg.connect(postgres_url)
    await admin.execute("DROP DATABASE IF EXISTS empty WITH (FORCE)")
    await admin.execute("CREATE DATABASE empty")
    await admin.close()
    return postgres_url.replace("/gpuaas?", "/empty?")


@pytest.mark.parametrize("earlier", range(len(migrations()) + 1))
async def test_up_from_every_earlier_revision(empty_url: str, earlier: int) -> None:
    assert await migrate(empty_url, up_to=earlier) == earlier
    assert await migrate(empty_url) == len(migrations())
    assert await migrate(empty_url) == len(migrations())


async def test_changed_file_of_an_applied_revision_is_refused(empty_url: str) -> None:
    await migrate(empty_url)
    connection = await asyncpg.connect(empty_url)
    await connection.execute("UPDATE gpuaas.schema_revisions SET checksum = 'x' WHERE revision = 1")
    await connection.close()
    with pytest.raises(SchemaError, match="differs"):
        await migrate(empty_url)


async def test_a_revision_that_fails_is_named_and_leaves_nothing(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await migrate(empty_url)
    bad = Migration(done + 1, "bad", "CREATE TABLE half (id int); SELECT 1 / 0")
    monkeypatch.setattr(migrating, "migrations", lambda: [*migrations(), bad])
    with pytest.raises(SchemaError, match=rf"revision {done + 1} \(bad\).*division by zero"):
        await migrate(empty_url)
    connection = await asyncpg.connect(empty_url)
    assert await connection.fetchval("SELECT to_regclass('gpuaas.half')") is None
    assert await connection.fetchval("SELECT max(revision) FROM gpuaas.schema_revisions") == done
    await connection.close()


async def test_an_address_that_leads_nowhere_is_said(postgres_url: str) -> None:
    with pytest.raises(SchemaError, match='database "nowhere" does not exist'):
        await migrate(postgres_url.replace("/gpuaas?", "/nowhere?"))
    with pytest.raises(SchemaError, match="sslmode"):
        await migrate(f"{postgres_url}&sslmode=sometimes")


async def test_platform_role_cannot_change_the_record(database_url: str) -> None:
    connection = await asyncpg.connect(database_url, server_settings={"role": "gpuaas_app"})
    for statement in (
        "UPDATE gpuaas.audit_entries SET action = 'x'",
        "DELETE FROM gpuaas.audit_entries",
        "TRUNCATE gpuaas.audit_chain",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    await connection.close()
