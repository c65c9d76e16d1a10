"""Health and version answer without an identity; everything carries a correlation id."""

import httpx2

from gpuaas_platform.kernel.call import Platform


async def test_ready_says_what_it_checked(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/health/ready")
    assert answer.status_code in {200, 503}
    names = [check["name"] for check in answer.json()["checks"]]
    assert names == ["database", "schema", "relay", "keys", "signals", "disk", "staying"]


async def test_not_ready_names_the_database(client: httpx2.AsyncClient, platform: Platform) -> None:
    await platform.db.close()
    answer = await client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["checks"][0]["ok"] is False


async def test_correlation_is_accepted_minted_and_returned(client: httpx2.AsyncClient) -> None:
    given = await client.get("/health/live", headers={"X-Correlation-ID": "incident-7"})
    assert given.headers["X-Correlation-ID"] == "incident-7"
    minted = await client.get("/health/live", headers={"X-Correlation-ID": "bad id\t"})
    assert minted.headers["X-Correlation-ID"].startswith("cor_")


async def test_unknown_route_is_a_problem_document(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/nothing")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"
    assert answer.json()["correlation_id"] == answer.headers["X-Correlation-ID"]
