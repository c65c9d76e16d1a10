"""Deliveries outlive the process that had them under way."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network

import asyncpg
import httpx2
import pytest
from duty_process import duty_process
from eventually import eventually
from journal_fixtures import Callers, Hands, happen
from receiver_fixtures import receiving
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.settings import Settings

_BORN = datetime(2026, 1, 1, tzinfo=UTC)  # where the clock of tests begins


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhook_allowed_networks": (IPv4Network("127.0.0.0/8"),)})


async def test_a_killed_dispatchers_delivery_is_made_by_the_next(
    platform: Platform,
    database_url: str,
    client: httpx2.AsyncClient,
    callers: Callers,
    clock: Hands,
) -> None:
    """Killed while the target holds the request: the event comes again, once more, in order."""
    # This process serves no webhook of the test: its clock stands a day in the past.
    clock.advance(seconds=(datetime.now(UTC) - timedelta(days=1) - _BORN).total_seconds())
    project = await project_make(platform, "acme", "research")
    token = callers.add(RoleName.PROJECT_ADMIN, project)
    async with receiving() as receiver:
        receiver.hold = asyncio.Event()
        answer = await client.post(
            f"/projects/{project.project_id}/webhooks",
            json={"url": receiver.url, "filter": {"types": ["apps"]}},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 201
        admin = await asyncpg.connect(database_url, server_settings={"search_path": "gpuaas"})
        try:
            await admin.execute("UPDATE webhooks SET next_attempt_at = now()")
            for number in range(3):
                await happen(platform, project, data={"n": number})
            with duty_process("events", database_url, platform.settings.data_dir):
                await _until(lambda: len(receiver.received) == 1)
            receiver.hold.set()
            leased = await admin.fetchval("SELECT lease FROM webhooks")
            assert leased is not None, "the dead process's lease stands"
            await admin.execute("UPDATE webhooks SET lease_until = now()")  # its time runs out
            with duty_process("events", database_url, platform.settings.data_dir):
                await _until(lambda: len(receiver.received) == 4)

                async def written() -> bool:
                    sql = "SELECT count(*) FROM webhook_deliveries WHERE status = 'delivered'"
                    return int(await admin.fetchval(sql)) == 3

                await eventually(written)
        finally:
            await admin.close()
    assert receiver.numbers == [0, 0, 1, 2]
    assert len({item.headers["webhook-id"] for item in receiver.received}) == 3


async def _until(check: Callable[[], bool]) -> None:
    async def checked() -> bool:
        return check()

    await eventually(checked, within=120)
