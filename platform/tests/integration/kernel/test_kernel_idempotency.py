"""Idempotency: one change per key, the first answer again, and nothing of a crash in between."""

import asyncio
from typing import Any

import httpx2
import pytest
from platform_calls import bearer

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform


@pytest.fixture
def admin(callers: Any) -> dict[str, str]:
    return bearer(callers.add(RoleName.PLATFORM_ADMIN))


def region(name: str) -> dict[str, str]:
    return {"name": name, "display_name": name}


async def _counts(platform: Platform) -> tuple[int, int, int]:
    row = await platform.db.fetchrow(
        "SELECT (SELECT count(*) FROM regions) AS r,"
        " (SELECT count(*) FROM audit_entries WHERE outcome = 'allowed') AS a,"
        " (SELECT count(*) FROM outbox) + (SELECT count(*) FROM events) AS e"
    )
    assert row is not None
    return row["r"], row["a"], row["e"]


async def test_same_key_and_body_gets_the_first_answer(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str]
) -> None:
    keyed = admin | {"Idempotency-Key": "k1"}
    first = await client.post("/regions", json=region("north"), headers=keyed)
    again = await client.post("/regions", json=region("north"), headers=keyed)
    assert (first.status_code, first.json()) == (201, again.json())
    assert again.status_code == 201
    assert "Idempotent-Replay" not in first.headers
    assert again.headers["Idempotent-Replay"] == "true"
    assert await _counts(platform) == (1, 1, 1)


async def test_same_key_with_another_body_is_a_conflict(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str]
) -> None:
    keyed = admin | {"Idempotency-Key": "k1"}
    await client.post("/regions", json=region("north"), headers=keyed)
    other = await client.post("/regions", json=region("south"), headers=keyed)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert await _counts(platform) == (1, 1, 1)


async def test_keys_belong_to_their_caller(client: httpx2.AsyncClient, callers: Any) -> None:
    for name in ("north", "south"):
        caller = bearer(callers.add(RoleName.PLATFORM_ADMIN))
        headers = caller | {"Idempotency-Key": "the same"}
        answer = await client.post("/regions", json=region(name), headers=headers)
        assert answer.status_code == 201


async def test_refused_request_keeps_no_key(
    client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    """A refusal changed nothing, so the key is free for the corrected request."""
    keyed = admin | {"Idempotency-Key": "k1"}
    await client.post("/regions", json=region("north"), headers=admin)
    taken = await client.post("/regions", json=region("north"), headers=keyed)
    assert taken.json()["code"] == "name_taken"
    other = await client.post("/regions", json=region("south"), headers=keyed)
    assert other.status_code == 201


async def test_concurrent_twins_change_once(
    client: httpx2.AsyncClient, platform: Platform, admin: dict[str, str]
) -> None:
    keyed = admin | {"Idempotency-Key": "k1"}
    answers = await asyncio.gather(
        *(client.post("/regions", json=region("north"), headers=keyed) for _ in range(12))
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert sum("Idempotent-Replay" not in answer.headers for answer in answers) == 1
    assert await _counts(platform) == (1, 1, 1)


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there"])
async def test_malformed_key_is_refused(
    client: httpx2.AsyncClient, admin: dict[str, str], key: str
) -> None:
    headers = admin | {"Idempotency-Key": key}
    answer = await client.post("/regions", json=region("north"), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
