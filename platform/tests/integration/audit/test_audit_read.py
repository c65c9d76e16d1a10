"""Reading the audit: tenants see theirs, the platform sees all, filters and pages hold."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from journal_fixtures import ORG, OTHER_ORG, OTHER_PROJECT, PROJECT, Callers, Hands, happen
from tenancy_fixtures import project_make

from gpuaas_contract.audit import AuditRecord
from gpuaas_contract.permissions import Permission, RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place


@pytest.fixture
async def history(platform: Platform, clock: Hands) -> Platform:
    """Six entries over an hour each, in several places."""
    places = [PROJECT, OTHER_PROJECT, OTHER_ORG, Place(ORG), Place(), PROJECT]
    for number, place in enumerate(places):
        await happen(
            platform,
            place,
            subject=f"inst_{number}",
            action="apps.instance.create" if number % 2 == 0 else "apps.instances.list",
            correlation_id=f"cor-{number}",
        )
        clock.advance(hours=1)
    return platform


async def test_everybody_reads_their_own(
    history: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    for role, place, expected in (
        (RoleName.PROJECT_ADMIN, PROJECT, [5, 0]),
        (RoleName.TENANT_ADMIN, Place(ORG), [5, 3, 1, 0]),
        (RoleName.AUDITOR, Place(), [5, 4, 3, 2, 1, 0]),
    ):
        token = callers.add(role, place)
        assert await _targets(client, token) == expected
        assert await _targets(client, token, limit=2) == expected, "page by page"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"org_id": "org_b"}, [2]),
        ({"project_id": "proj_b"}, [1]),
        ({"actor_id": "system"}, [5, 4, 3, 2, 1, 0]),
        ({"actor_id": "user_1"}, []),
        ({"action": "apps.instance"}, [4, 2, 0]),
        ({"action": "apps.instances.list"}, [5, 3, 1]),
        ({"outcome": "denied"}, []),
        ({"target_kind": "thing", "target_id": "inst_3"}, [3]),
        ({"correlation_id": "cor-4"}, [4]),
    ],
)
async def test_filters(
    history: Platform,
    callers: Callers,
    client: httpx2.AsyncClient,
    query: dict[str, str],
    expected: list[int],
) -> None:
    assert await _targets(client, callers.add(RoleName.AUDITOR), **query) == expected


async def test_a_stretch_of_time(
    history: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    token = callers.add(RoleName.AUDITOR)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for since, until, expected in ((0.5, 2.5, [2, 1]), (2.5, 99, [5, 4, 3]), (-9, 0.5, [0])):
        params = {
            "since": (start + timedelta(hours=since)).isoformat(),
            "until": (start + timedelta(hours=until)).isoformat(),
        }
        assert await _targets(client, token, **params) == expected
    extremes = {"since": "0001-01-01T00:00:00Z", "until": "9999-12-31T23:59:59Z"}
    assert await _targets(client, token, **extremes) == [5, 4, 3, 2, 1, 0]


async def test_a_denied_mutation_is_an_entry_too(
    platform: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    project = await project_make(platform, "acme", "research")
    viewer = callers.add(RoleName.PROJECT_VIEWER, project)
    refused = await client.post(
        f"/projects/{project.project_id}/webhooks",
        headers={"Authorization": f"Bearer {viewer}", "X-Correlation-ID": "cor-denied"},
        json={"url": "https://receiver.example/hook"},
    )
    assert refused.status_code == 403
    auditor = callers.add(RoleName.AUDITOR)
    answer = await client.get(
        "/audit",
        params={"correlation_id": "cor-denied"},
        headers={"Authorization": f"Bearer {auditor}"},
    )
    entry = AuditRecord.model_validate(answer.json()["items"][0])
    assert (entry.outcome, entry.actor_id) == ("denied", viewer)


async def test_who_may_not_read_is_refused(
    platform: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    token = callers.add(frozenset({Permission.EVENT_READ}), PROJECT)
    for path in ("/audit", "/audit/export", "/audit/head", "/audit/verification"):
        refused = await client.get(path, headers={"Authorization": f"Bearer {token}"})
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied"), path
        assert (await client.get(path)).status_code == 401


async def _targets(client: httpx2.AsyncClient, token: str, **query: Any) -> list[int]:
    """The numbers of all targets the list shows, over all its pages."""
    found: list[int] = []
    cursor: str | None = None
    while True:
        params = query | ({"cursor": cursor} if cursor else {})
        answer = await client.get(
            "/audit", params=params, headers={"Authorization": f"Bearer {token}"}
        )
        assert answer.status_code == 200, answer.text
        found += [int(item["target_id"].removeprefix("inst_")) for item in answer.json()["items"]]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return found
