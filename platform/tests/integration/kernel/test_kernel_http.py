"""What holds for every request: sizes, rates, bad input, unforeseen failures, no secret in logs."""

import dataclasses
import json
from typing import Any

import httpx2
import pytest
from platform_calls import bearer

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.capacity.store import machines as capacity_store
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.limits import RateLimiter
from gpuaas_platform.kernel.logs import logs_configure
from gpuaas_platform.kernel.settings import Settings


@pytest.fixture
def admin(callers: Any) -> dict[str, str]:
    return bearer(callers.add(RoleName.PLATFORM_ADMIN))


async def test_too_large_a_body_is_refused(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str]
) -> None:
    huge = "x" * (platform.settings.max_body_bytes + 1)
    announced = await client.post("/regions", content=huge, headers=admin)
    assert (announced.status_code, announced.json()["code"]) == (413, "request_too_large")

    async def unannounced() -> Any:
        for _ in range(4):
            yield huge[: len(huge) // 3].encode()

    streamed = await client.post("/regions", content=unannounced(), headers=admin)
    assert (streamed.status_code, streamed.json()["code"]) == (413, "request_too_large")


async def test_invalid_body_names_each_field(
    client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    body = {"name": "NOT OK", "extra": 1}
    answer = await client.post("/regions", json=body, headers=admin)
    problem = answer.json()
    assert answer.status_code == 422
    assert {error["pointer"] for error in problem["errors"]} == {"/name", "/display_name", "/extra"}
    assert problem["next_actions"] == ["fix_request"]


@pytest.mark.parametrize("text", ["nul\u0000", "lone \ud800 surrogate"])
async def test_text_no_database_can_hold_is_refused(
    client: httpx2.AsyncClient, admin: dict[str, str], text: str
) -> None:
    body = json.dumps({"name": "north", "display_name": text}).encode()
    headers = admin | {"Content-Type": "application/json"}
    answer = await client.post("/regions", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_rate_is_limited_per_caller(
    client: httpx2.AsyncClient, platform: Platform, callers: Any
) -> None:
    slow = dataclasses.replace(platform, limiter=RateLimiter(per_second=0.1, burst=2))
    platform.parts["test.app"].state.platform = slow
    greedy, other = (bearer(callers.add(RoleName.PLATFORM_ADMIN)) for _ in range(2))
    statuses = [(await client.get("/regions", headers=greedy)).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = await client.get("/regions", headers=greedy)
    assert int(refused.headers["Retry-After"]) >= 1
    assert refused.json()["retryable"] is True
    assert (await client.get("/regions", headers=other)).status_code == 200


async def test_unforeseen_failure_is_a_problem_and_changes_nothing(
    client: httpx2.AsyncClient,
    platform: Platform,
    admin: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = capacity_store.region_insert

    async def insert_then_fail(*args: Any) -> None:
        await real(*args)
        raise ZeroDivisionError

    monkeypatch.setattr(capacity_store, "region_insert", insert_then_fail)
    body = {"name": "north", "display_name": "North"}
    answer = await client.post("/regions", json=body, headers=admin)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.json()["correlation_id"] == answer.headers["X-Correlation-ID"]
    assert await platform.db.fetchval("SELECT count(*) FROM regions") == 0


@pytest.mark.parametrize("shape", ["json", "console"])
async def test_failure_logs_no_values(
    client: httpx2.AsyncClient,
    admin: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    shape: Any,
) -> None:
    logs_configure(Settings(log_format=shape))

    async def fail(_: Any, __: Any, body: Any, ___: Any) -> None:
        canary = body.display_name
        raise ZeroDivisionError(len(canary))

    monkeypatch.setattr(capacity_store, "region_insert", fail)
    body = {"name": "north", "display_name": "canary-7f3a"}
    await client.post("/regions", json=body, headers=admin)
    printed = "".join(capfd.readouterr())
    assert "ZeroDivisionError" in printed
    assert "canary-7f3a" not in printed


async def test_denied_mutation_is_audited(
    client: httpx2.AsyncClient, platform: Platform, callers: Any
) -> None:
    auditor = bearer(callers.add(RoleName.AUDITOR))
    body = {"name": "north", "display_name": "North"}
    headers = auditor | {"X-Correlation-ID": "try-1"}
    answer = await client.post("/regions", json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    row = await platform.db.fetchrow("SELECT * FROM audit_entries")
    assert row is not None
    assert (row["outcome"], row["action"]) == ("denied", "capacity.region.create")
    assert row["correlation_id"] == "try-1"
    assert row["detail"] == {"permission": "capacity.region.manage"}


async def test_traceparent_is_carried_into_the_event(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str]
) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    body = {"name": "north", "display_name": "North"}
    await client.post("/regions", json=body, headers=admin | {"traceparent": trace})
    assert trace == await platform.db.fetchval(
        "SELECT traceparent FROM outbox UNION ALL SELECT traceparent FROM events"
    )
