"""The gap log: categories, evidence without credentials, open and closed, each in its place."""

from typing import Any

import httpx2
import pytest
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.operate import GapCategory
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform


@pytest.fixture
async def admin(platform: Platform, callers: Any) -> dict[str, str]:
    place = await project_make(platform, "acme", "research")
    return bearer(callers.add(RoleName.PROJECT_ADMIN, place))


def _gap(**more: Any) -> dict[str, Any]:
    return {
        "category": "missing_event",
        "title": "Nobody tells when a node is cordoned",
        "project_id": "proj_acme_research",
        "evidence": {
            "request": "GET /events\nAuthorization: Bearer gpt_verysecretverysecretverysecret",
            "answer": "200",
            "correlation_id": "incident-42",
        },
    } | more


@pytest.mark.parametrize("category", list(GapCategory))
async def test_every_category_can_be_logged(
    client: httpx2.AsyncClient, admin: dict[str, str], category: GapCategory
) -> None:
    answer = await client.post("/gaps", json=_gap(category=category), headers=admin)
    assert answer.status_code == 201, answer.text
    assert answer.json()["category"] == category


async def test_a_gap_lives_from_logged_to_closed(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str]
) -> None:
    headers = admin | {"X-Correlation-ID": "gap-1"}
    made = (await client.post("/gaps", json=_gap(), headers=headers)).json()
    assert (made["status"], made["scope"]["project_id"]) == ("open", "proj_acme_research")
    assert "verysecret" not in str(made)
    assert made["evidence"]["correlation_id"] == "incident-42"
    path = f"/gaps/{made['id']}"
    closing = {"status": "closed", "resolution": "node events exist now"}
    stale = await client.patch(path, json=closing, headers=admin | {"If-Match": '"7"'})
    assert stale.status_code == 412
    closed = (await client.patch(path, json=closing, headers=admin)).json()
    assert (closed["status"], closed["closed_by"]) == ("closed", made["reported_by"])
    reopened = (await client.patch(path, json={"status": "open"}, headers=admin)).json()
    assert (reopened["closed_at"], reopened["revision"]) == (None, 3)
    assert (await client.get(path, headers=admin)).json() == reopened
    types = await platform.db.fetch("SELECT type FROM outbox UNION SELECT type FROM events")
    assert {row["type"] for row in types} == {
        "operate.gap.logged", "operate.gap.closed", "operate.gap.open",
    }  # fmt: skip
    for row in await platform.db.fetch("SELECT row_to_json(g)::text AS text FROM gaps g"):
        assert "verysecret" not in row["text"]


async def test_lists_are_filtered_by_reach_and_state(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str], callers: Any
) -> None:
    rival_place = await project_make(platform, "rival", "lab")
    rival = bearer(callers.add(RoleName.PROJECT_ADMIN, rival_place))
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    made = (await client.post("/gaps", json=_gap(), headers=admin)).json()
    await client.post("/gaps", json=_gap(project_id=None, category="app_problem"), headers=operator)
    assert (await client.get("/gaps", headers=rival)).json()["items"] == []
    assert (await client.get(f"/gaps/{made['id']}", headers=rival)).status_code == 404
    refused = await client.patch(f"/gaps/{made['id']}", json={"title": "x"}, headers=rival)
    assert refused.status_code == 404
    assert (await client.post("/gaps", json=_gap(), headers=rival)).status_code == 404
    for query, count in ({"status": "open"}, 1), ({"status": "closed"}, 0), ({"limit": "1"}, 1):
        found = (await client.get("/gaps", params=query, headers=admin)).json()["items"]
        assert len(found) == count
    assert len((await client.get("/gaps", headers=operator)).json()["items"]) == 2


async def test_a_viewer_reads_and_does_not_write(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str], callers: Any
) -> None:
    place = (await client.post("/gaps", json=_gap(), headers=admin)).json()["scope"]
    assert place["org_id"] == "org_acme"
    viewer = bearer(
        callers.add(RoleName.PROJECT_VIEWER, await project_make(platform, "acme", "second"))
    )
    denied = await client.post("/gaps", json=_gap(project_id="proj_acme_second"), headers=viewer)
    assert denied.status_code == 403
