"""The first administrator: by command beside a running platform or without one, and by settings."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from identity_fixtures import PASSWORD, world_running
from served_platform import served

from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.settings import Settings

EMAIL = "first@example.org"


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUAAS_")}
    given = {f"GPUAAS_{name}": value for name, value in environment.items()}
    return subprocess.run(
        [str(Path(sys.executable).with_name("gpuaas-platform")), "admin", "create", *words],
        env=clean | given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def signs_in(url: str, email: str, password: str) -> bool:
    with httpx2.Client(timeout=60) as client:
        answer = client.post(f"{url}/sessions", json={"email": email, "password": password})
        return answer.status_code == 201


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder the embedded database's user can enter; pytest's own is closed to it."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-test-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


def test_the_command_works_beside_a_running_platform(folder: Path) -> None:
    secret = folder / "password"
    secret.write_text(PASSWORD + "\n")
    where = {"DATA_DIR": str(folder / "data")}
    before = command("--email", EMAIL, "--generate-password", **where)
    assert before.returncode == 0, before.stderr
    generated = before.stdout.rsplit(" ", 1)[1].strip()
    with served(**where) as platform:
        url = platform.await_listening()
        assert signs_in(url, EMAIL, generated)
        again = command("--email", EMAIL, **where)
        assert "was there" in again.stdout, again.stderr
        assert signs_in(url, EMAIL, generated)
        changed = command("--email", EMAIL, "--password-file", str(secret), **where)
        assert "password was changed" in changed.stdout
        assert signs_in(url, EMAIL, PASSWORD)
        assert not signs_in(url, EMAIL, generated)
        asked = command("--email", "second@example.org", **where)
        assert asked.returncode != 0
        assert "--password-file" in asked.stderr
        assert platform.stop() == 0


async def test_settings_make_an_administrator_where_there_is_none(
    database_url: str, tmp_path: Path
) -> None:
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    settings = Settings(
        data_dir=tmp_path,
        bootstrap_admin_email=EMAIL,
        bootstrap_admin_password_file=secret,
    )

    async def start() -> None:
        async with world_running(database_url, settings, Clock()) as world:
            assert (await (await world.signed_in(EMAIL)).seen("/whoami"))["email"] == EMAIL

    await asyncio.gather(start(), start(), start())
    secret.write_text("a changed password")
    await start()
    other = Settings(data_dir=tmp_path, bootstrap_admin_email="other@example.org")
    async with world_running(database_url, other, Clock()) as world:
        assert await world.platform.db.fetchval("SELECT count(*) FROM users") == 1


async def test_settings_that_cannot_work_are_said_at_start(
    database_url: str, tmp_path: Path
) -> None:
    lacking = Settings(data_dir=tmp_path, bootstrap_admin_email=EMAIL)
    with pytest.raises(PlatformError, match="PASSWORD_FILE"):
        async with world_running(database_url, lacking, Clock()):
            pass
    short = tmp_path / "short"
    short.write_text("short")
    weak = Settings(
        data_dir=tmp_path, bootstrap_admin_email=EMAIL, bootstrap_admin_password_file=short
    )
    with pytest.raises(PlatformError, match="12"):
        async with world_running(database_url, weak, Clock()):
            pass
