"""Kill the platform, or the database, between any two statements of a mutation.

Afterwards state, audit and events agree: the change is there with all that tells of it, or nothing
is. The same request with the same key then ends with exactly one change, whatever happened.
"""

import asyncio
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import asyncpg
import httpx2
import pytest
from eventually import eventually
from served_platform import ServedPlatform, served
from statement_proxy import Followed, Plan, statement_proxy

from gpuaas_platform.kernel.embedded import EmbeddedPostgres
from gpuaas_platform.kernel.migrate import migrate

EMAIL, PASSWORD = "root@example.org", "correct horse battery staple"
STATEMENTS = 3  # insert the region, write the journal and take the key, commit
Victim = Literal["platform", "database"]


@dataclass(frozen=True)
class Site:
    """A PostgreSQL of its own, because it gets killed, and the administrator's password."""

    url: str
    folder: Path

    @property
    def sockets(self) -> Path:
        return Path(self.url.rsplit("host=", 1)[1])

    def through(self, proxy: Path) -> str:
        return self.url.replace(str(self.sockets), str(proxy))

    def served(self, url: str) -> AbstractContextManager[ServedPlatform]:
        return served(
            DATABASE_URL=url,
            DATA_DIR=str(self.folder),
            BOOTSTRAP_ADMIN_EMAIL=EMAIL,
            BOOTSTRAP_ADMIN_PASSWORD_FILE=str(self.folder / "password"),
        )


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-crash-"))
    folder.chmod(0o711)
    (folder / "password").write_text(PASSWORD)
    server = EmbeddedPostgres(folder)
    try:
        yield Site(server.start(), folder)
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.mark.parametrize("victim", ["platform", "database"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", range(STATEMENTS))
async def test_one_change_or_none_then_exactly_one(
    site: Site, statement: int, when: Literal["before", "after"], victim: Victim
) -> None:
    key, name = secrets.token_hex(16), f"r{secrets.token_hex(6)}"
    plan = Plan(name.encode(), statement, when)
    await migrate(site.url)
    await _through_the_crash(site, plan, victim, key, name)
    found = await _found(site.url, name)
    assert found in {(0, 0, 0), (1, 1, 1)}
    assert found == ((1, 1, 1) if (statement, when) == (STATEMENTS - 1, "after") else (0, 0, 0))
    with site.served(site.url) as again:
        again.await_listening()
        answer = await _create_region(again, key, name)
        assert answer.status_code == 201
        assert answer.json()["name"] == name
    assert await _found(site.url, name) == (1, 1, 1)


async def test_mutation_has_the_statements_the_test_kills_between(site: Site) -> None:
    """If a mutation grows a statement, the test above must grow with it."""
    key, name = secrets.token_hex(16), f"r{secrets.token_hex(6)}"
    plan = Plan(name.encode())
    with tempfile.TemporaryDirectory(prefix="gpuaas-proxy-") as folder:
        async with statement_proxy(site.sockets, Path(folder), plan):
            await migrate(site.url)
            with site.served(site.through(Path(folder))) as platform:
                await asyncio.to_thread(platform.await_listening)
                answer = await _create_region(platform, key, name)
                assert answer.status_code == 201
    assert plan.seen == STATEMENTS


async def _through_the_crash(site: Site, plan: Plan, victim: Victim, key: str, name: str) -> None:
    witness = await asyncpg.connect(site.url)
    with tempfile.TemporaryDirectory(prefix="gpuaas-proxy-") as folder:
        async with statement_proxy(site.sockets, Path(folder), plan):
            with site.served(site.through(Path(folder))) as platform:
                plan.act = _killer(platform, victim)
                await asyncio.to_thread(platform.await_listening)
                try:
                    answer = await _create_region(platform, key, name)
                    assert answer.status_code == 503
                except httpx2.TransportError:
                    assert victim == "platform"
                assert plan.acted.is_set()
    if victim == "database":
        await _await_recovery(site.url, witness)
    witness.terminate()


def _killer(platform: ServedPlatform, victim: Victim) -> Callable[[Followed], None]:
    def kill(followed: Followed) -> None:
        if victim == "platform":
            platform.process.send_signal(signal.SIGKILL)
        else:  # PostgreSQL ends every connection and recovers when one of its own is killed
            os.kill(followed.backend_pid, signal.SIGKILL)

    return kill


async def _create_region(platform: ServedPlatform, key: str, name: str) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=platform.url, timeout=120) as client:
        session = await client.post("/sessions", json={"email": EMAIL, "password": PASSWORD})
        assert session.status_code in {200, 201}, session.text
        headers = {"X-CSRF-Token": client.cookies["gpuaas_csrf"], "Idempotency-Key": key}
        return await client.post(
            "/regions", json={"name": name, "display_name": name}, headers=headers
        )


async def _found(url: str, name: str) -> tuple[int, int, int]:
    """How often the region, its audit row and its event exist."""
    connection = await asyncpg.connect(url, server_settings={"search_path": "gpuaas"})
    try:
        row = await connection.fetchrow(
            "SELECT (SELECT count(*) FROM regions WHERE name = $1) AS regions,"
            " (SELECT count(*) FROM audit_entries a JOIN regions r ON r.id = a.target_id"
            "  WHERE r.name = $1) AS audits,"
            " (SELECT count(*) FROM outbox WHERE data ->> 'name' = $1)"
            "  + (SELECT count(*) FROM events WHERE data ->> 'name' = $1) AS events",
            name,
        )
    finally:
        await connection.close()
    assert row is not None
    return row["regions"], row["audits"], row["events"]


async def _await_recovery(url: str, witness: "asyncpg.Connection[asyncpg.Record]") -> None:
    """PostgreSQL may let somebody in before it has noticed the death: the end of a connection that
    was there before says that it has, and letting somebody in after that, that it is over it."""
    await _until(lambda: witness.fetchval("SELECT 1"), fails=True)
    await _until(lambda: _let_in(url), fails=False)


async def _let_in(url: str) -> None:
    await (await asyncpg.connect(url)).close()


async def _until(ask: Callable[[], Awaitable[object]], *, fails: bool) -> None:

    async def as_wanted() -> bool:
        try:
            await ask()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return fails
        return not fails

    await eventually(as_wanted, within=120, what="a PostgreSQL that has recovered")
