"""Delivering: a URL for one machine and some minutes, resumable, refused in every other case."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from artifacts_fixtures import ArtifactSite, artifact_site_make, content_make
from eventually import eventually

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.artifacts.life import sweep_turn
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.public_url import base_of
from gpuaas_platform.kernel.settings import Settings

CONTENT = content_make(6 * 1024 * 1024 + 5)


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> ArtifactSite:
    return await artifact_site_make(client, platform, callers)


@pytest.fixture
async def artifact(site: ArtifactSite) -> Any:
    return await site.published(await site.shared(), CONTENT, site.root)


async def test_a_machine_fetches_what_was_published(site: ArtifactSite, artifact: Any) -> None:
    issued = await site.delivery(artifact["id"], purpose="install")
    answer = await site.fetched(issued)
    assert (answer.status_code, answer.content == CONTENT) == (200, True)
    assert answer.headers["content-length"] == str(len(CONTENT))
    assert answer.headers["etag"] == f'"{artifact["digest"]}"'
    assert answer.headers["cache-control"] == "no-store"
    path = f"/artifact-deliveries/{issued['delivery']['id']}"
    await asyncio.gather(*site.platform.parts["artifacts.finishing"])
    told = await site.seen(path, site.viewer)
    assert (told["fetches"], told["purpose"]) == (1, "install")
    assert told["finished_at"] is not None
    page = await site.seen("/artifact-deliveries", site.viewer, artifact_id=artifact["id"])
    assert [one["id"] for one in page["items"]] == [issued["delivery"]["id"]]


async def test_a_fetch_resumes_from_any_byte(site: ArtifactSite, artifact: Any) -> None:
    issued = await site.delivery(artifact["id"])
    size = len(CONTENT)
    for asked, start, end in (
        ("bytes=0-0", 0, 1),
        ("bytes=1000-", 1000, size),
        ("bytes=5000000-5000999", 5_000_000, 5_001_000),
        ("bytes=-7", size - 7, size),
        (f"bytes={size - 1}-{size + 50}", size - 1, size),
    ):
        answer = await site.fetched(issued, Range=asked)
        assert answer.status_code == 206
        assert answer.content == CONTENT[start:end]
        assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
    beyond = await site.fetched(issued, Range=f"bytes={size}-")
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
    for odd in ("bytes=5-2", "lines=1-2", "bytes=0-1,4-5", "bytes=-"):
        assert (await site.fetched(issued, Range=odd)).status_code == 200
    other = await site.fetched(issued, Range="bytes=5-", If_Range='"sha256:other"')
    assert other.status_code == 200
    same = await site.fetched(issued, Range="bytes=5-", If_Range=f'"{artifact["digest"]}"')
    assert same.status_code == 206


async def test_only_its_own_token_opens_a_delivery(
    site: ArtifactSite, artifact: Any, clock: Any
) -> None:
    first, second = await site.delivery(artifact["id"]), await site.delivery(artifact["id"], 1)
    path, token = first["path"].split("?token=")
    other = second["path"].split("?token=")[1]
    wrong = [other, "", "gpd_x", token[:-2], token + "A", "x" + token[1:], token.swapcase()]
    for bad in wrong:
        answer = await site.fetched({"path": f"{path}?token={bad}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), bad
    clock.advance(seconds=901)
    late = await site.fetched(first)
    assert (late.status_code, late.json()["code"]) == (401, "token_expired")
    read = await site.seen(f"/artifact-deliveries/{first['delivery']['id']}", site.viewer)
    assert read["fetches"] == 0


async def test_a_delivery_ends_with_what_it_hangs_on(site: ArtifactSite, artifact: Any) -> None:
    revoked = await site.delivery(artifact["id"])
    path = f"/artifact-deliveries/{revoked['delivery']['id']}/revoke"
    await site.made(path, site.robot, None)
    assert (await site.fetched(revoked)).json()["code"] == "token_expired"
    again = await site.ask("POST", path, site.robot)
    assert again.json()["code"] == "state_conflict"

    released = await site.delivery(artifact["id"], 1)
    await site.made(f"/allocations/{site.allocations[1]}/release", site.lead, None)
    assert (await site.fetched(released)).json()["code"] == "state_conflict"
    path = f"/allocations/{site.allocations[1]}/artifact-deliveries"
    refused = await site.ask("POST", path, site.robot, {"artifact_id": artifact["id"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "state_conflict")

    open_one = await site.delivery(artifact["id"])
    await site.made(f"/artifacts/{artifact['id']}/revoke", site.root, {"reason": "A back door."})
    assert (await site.fetched(open_one)).json()["code"] == "state_conflict"
    await sweep_turn(site.platform)
    folder = site.platform.settings.data_dir / "artifacts"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


async def test_who_may_deliver_what_where(site: ArtifactSite, artifact: Any) -> None:
    path = f"/allocations/{site.allocations[0]}/artifact-deliveries"
    body = {"artifact_id": artifact["id"]}
    stranger_place = Place("org_00000000000000000000000000", "proj_0000000000000000000000000")
    stranger = site.callers.add(RoleName.APP_OPERATOR, stranger_place)
    refused = await site.ask("POST", path, {"Authorization": f"Bearer {stranger}"}, body)
    assert refused.status_code == 404
    viewer = await site.ask("POST", path, site.viewer, body)
    assert (viewer.status_code, viewer.json()["code"]) == (403, "permission_denied")
    unknown = await site.ask("POST", path, site.robot, {"artifact_id": "art_unknown"})
    assert unknown.status_code == 404
    intended = {"name": "later", "version": "1", "digest": artifact["digest"], "size": 5}
    source = artifact["source_id"]
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intended)
    early = await site.ask("POST", path, site.robot, {"artifact_id": made["id"]})
    assert early.json()["code"] == "state_conflict"


async def test_a_repeated_request_gets_the_same_url_and_nothing_keeps_it(
    site: ArtifactSite, artifact: Any
) -> None:
    path = f"/allocations/{site.allocations[0]}/artifact-deliveries"
    headers = site.robot | {"Idempotency-Key": "a-key-of-sixteen-or-more"}
    body = {"artifact_id": artifact["id"]}
    first = await site.client.post(path, json=body, headers=headers)
    second = await site.client.post(path, json=body, headers=headers)
    assert first.json() == second.json()
    token = first.json()["path"].split("=")[1].encode()
    tables = await site.platform.db.fetch(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    )
    for (table,) in tables:
        rows = await site.platform.db.fetch(f"SELECT t::text AS line FROM {table} t")  # noqa: S608 - the catalog's own names
        text = "\n".join(row["line"] for row in rows)
        assert token.decode() not in text, table
        assert token.hex() not in text, table


async def test_the_record_tells_what_went_where(site: ArtifactSite, artifact: Any) -> None:
    headers = site.robot | {"X-Correlation-ID": "story-1"}
    issued = await site.client.post(
        f"/allocations/{site.allocations[0]}/artifact-deliveries",
        json={"artifact_id": artifact["id"], "purpose": "task-7"},
        headers=headers,
    )
    assert (await site.fetched(issued.json())).status_code == 200
    await asyncio.gather(*site.platform.parts["artifacts.finishing"])
    timeline = await site.seen("/correlations/story-1", site.lead)
    entries = [(entry["kind"], entry["status"]) for entry in timeline["entries"]]
    assert ("artifact_delivery", "finished") in entries

    async def numbered() -> Any:
        seen = (await site.seen("/events", site.lead, correlation_id="story-1"))["items"]
        return seen if len(seen) == 2 else None

    events = await eventually(numbered)
    types = [event["type"] for event in events]
    assert sorted(types) == ["artifacts.delivery.created", "artifacts.delivery.finished"]
    assert "gpd_" not in str(timeline) + str(events)
    audit = await site.seen("/audit", site.lead, correlation_id="story-1")
    actions = {entry["action"] for entry in audit["items"]}
    assert actions == {"artifacts.delivery.create", "artifacts.delivery.finish"}


async def test_records_of_deliveries_are_forgotten_in_time(
    site: ArtifactSite, artifact: Any, clock: Any
) -> None:
    issued = await site.delivery(artifact["id"])
    clock.advance(days=timedelta(days=site.platform.settings.request_retention_days).days)
    await sweep_turn(site.platform)
    assert await site.seen(f"/artifact-deliveries/{issued['delivery']['id']}", site.viewer)
    clock.advance(hours=2)
    await sweep_turn(site.platform)
    gone = await site.ask("GET", f"/artifact-deliveries/{issued['delivery']['id']}", site.viewer)
    assert gone.status_code == 404


async def test_too_many_machines_at_once_are_asked_to_wait(
    site: ArtifactSite, artifact: Any
) -> None:
    site.platform.settings.__dict__["artifact_streams_max"] = 1
    site.platform.parts["artifacts.streams"] = 1
    issued = await site.delivery(artifact["id"])
    busy = await site.fetched(issued)
    assert (busy.status_code, busy.json()["code"]) == (503, "unavailable")
    assert busy.headers["retry-after"] == "5"


def test_machines_are_told_an_address_they_reach() -> None:
    def told(host: str, address: str | None, public_url: str | None = None) -> str:
        return base_of(Settings(host=host, public_url=public_url), 8470, address)

    assert told("127.0.0.1", "10.0.0.1", "https://x.example/") == "https://x.example"
    assert told("10.1.2.3,127.0.0.1", "127.0.0.9") == "http://127.0.0.1:8470"
    assert told("0.0.0.0", "127.0.0.9") == "http://127.0.0.1:8470"  # noqa: S104 - nothing listens
    assert told("10.1.2.3", "a-name.lab") == "http://10.1.2.3:8470"
    assert told("::", None) == "http://[::]:8470"
