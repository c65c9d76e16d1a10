"""The embedded database: no configuration, survives kill -9, one platform per folder."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from eventually import eventually_sync
from served_platform import served

from gpuaas_platform.kernel.embedded import EmbeddedError, EmbeddedPostgres
from gpuaas_platform.kernel.embedded_log import ServerLog
from gpuaas_platform.kernel.migrate import migrate, migrations


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder that the database's own user can reach."""
    made = Path(tempfile.mkdtemp(prefix="gpuaas-data-"))
    made.chmod(0o711)
    yield made
    server = _server_pid(made)
    if server is not None:
        _await_gone(server)
    shutil.rmtree(made)


def test_starts_with_no_configuration_but_a_folder(folder: Path) -> None:
    with served(DATA_DIR=str(folder)) as platform:
        url = platform.await_listening()
        assert httpx2.get(f"{url}/version", timeout=60).json()["schema_revision"] == len(
            migrations()
        )
        assert platform.stop() == 0
    assert not (folder / "postgres" / "postmaster.pid").exists()


def test_survives_kill_and_leaves_no_server_behind(folder: Path) -> None:
    with served(DATA_DIR=str(folder)) as first:
        first.await_listening()
        server = _server_pid(folder)
        first.kill()
    assert server is not None
    _await_gone(server)
    with served(DATA_DIR=str(folder)) as second:
        second.await_listening()


def test_restarts_at_once_after_a_kill(folder: Path) -> None:
    """The old server is still stopping when the new platform starts: it waits, then goes on."""
    for _ in range(3):
        with served(DATA_DIR=str(folder)) as platform:
            platform.await_listening()
            platform.kill()


def test_survives_the_death_of_the_database_alone(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    server.start()
    assert server.pid is not None
    os.kill(server.pid, 9)
    _await_dead_child(server)
    server.stop()
    again = EmbeddedPostgres(folder)
    url = again.start()
    assert asyncio.run(migrate(url)) == len(migrations())
    again.stop()


def test_second_platform_on_the_folder_is_refused(folder: Path) -> None:
    with served(DATA_DIR=str(folder)) as first:
        first.await_listening()
        with served(DATA_DIR=str(folder)) as second:
            output = second.output_at_end()
            assert second.process.returncode == 1
        assert f"in use by process {first.process.pid}" in output
        assert "GPUAAS_DATA_DIR" in output
        assert httpx2.get(f"{first.url}/health/ready", timeout=60).status_code == 200


def test_folder_of_a_newer_schema_is_refused(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    asyncio.run(_pretend_newer(server.start()))
    server.stop()
    with served(DATA_DIR=str(folder)) as platform:
        output = platform.output_at_end()
        assert platform.process.returncode == 1
    assert f"revision {len(migrations()) + 1}" in output
    assert "at least as new" in output


def test_folder_of_another_postgresql_is_refused(folder: Path) -> None:
    (folder / "postgres").mkdir()
    (folder / "postgres" / "PG_VERSION").write_text("12\n")
    with pytest.raises(EmbeddedError, match="PostgreSQL 12"):
        EmbeddedPostgres(folder).start()


def test_half_made_folder_is_made_anew(folder: Path) -> None:
    """A first start that was killed in the middle leaves only what the next one removes."""
    (folder / "postgres.partial").mkdir()
    (folder / "postgres.partial" / "PG_VERSION").write_text("18\n")
    server = EmbeddedPostgres(folder)
    server.start()
    server.stop()
    assert not (folder / "postgres.partial").exists()


def test_its_log_is_private_and_an_expected_conflict_is_one_line(folder: Path) -> None:
    log = folder / "postgres.log"
    log.write_text("from a release that let everybody read it\n")
    log.chmod(0o644)
    server = EmbeddedPostgres(folder)
    url = server.start()
    assert log.stat().st_mode & 0o777 == 0o600
    asyncio.run(_conflict(url))
    server.stop()
    said = log.read_text()
    assert "from a release" in said
    errors = [line for line in said.splitlines() if "conflicts_pkey" in line]
    assert len(errors) == 1
    assert errors[0].endswith(
        'ERROR:  duplicate key value violates unique constraint "conflicts_pkey"'
    )
    assert "STATEMENT" not in said
    assert "canary" not in said


def test_its_log_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "postgres.log"
    log = ServerLog(path, most=1000)
    for number in range(40):
        read, write = os.pipe()
        log.follow(os.fdopen(read, "rb"))
        os.write(write, f"{number:099}\n".encode())
        os.close(write)
        log.wait(30)
    kept = sorted(tmp_path.iterdir())
    assert [one.name for one in kept] == ["postgres.log", "postgres.log.1"]
    assert all(one.stat().st_size <= 1000 for one in kept)
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in kept)
    assert int(log.read().split()[-1]) == 39


async def test_any_postgresql_by_url(database_url: str) -> None:
    with served(DATABASE_URL=database_url) as platform:
        url = platform.await_listening()
        assert httpx2.get(f"{url}/health/ready", timeout=60).json()["status"] == "ready"
        assert platform.stop() == 0


async def test_taken_port_is_one_clear_line(database_url: str) -> None:
    with served(DATABASE_URL=database_url) as first:
        port = first.await_listening().split(":")[2].split("/")[0]
        with served(DATABASE_URL=database_url, PORT=port) as second:
            output = second.output_at_end()
            assert second.process.returncode == 1
    assert output.strip().count("\n") == 0
    assert "GPUAAS_PORT" in output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_unreachable_folder_is_refused_with_the_remedy(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EmbeddedError, match=r"chmod o\+x"):
        EmbeddedPostgres(closed / "data").start()


async def _conflict(url: str) -> None:
    """A statement of thirty lines whose value is there already."""
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE conflicts (id text PRIMARY KEY)")
    statement = "INSERT INTO conflicts" + "\n" * 30 + "VALUES ('canary')"
    await connection.execute(statement)
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute(statement)
    await connection.close()


async def _pretend_newer(url: str) -> None:
    newest = await migrate(url)
    connection = await asyncpg.connect(url)
    await connection.execute(
        "INSERT INTO gpuaas.schema_revisions (revision, name, checksum) VALUES ($1, 'later', '')",
        newest + 1,
    )
    await connection.close()


def _server_pid(folder: Path) -> int | None:
    try:
        return int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
    except FileNotFoundError:
        return None


def _await_gone(pid: int) -> None:
    process = Path(f"/proc/{pid}")
    eventually_sync(lambda: not process.exists(), what=f"the end of the database server {pid}")


def _await_dead_child(server: EmbeddedPostgres) -> None:
    process = server._process
    assert process is not None
    process.wait(60)
