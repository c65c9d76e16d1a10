"""Publishing: from the intent over parts to a verified artifact, also after breaks and crashes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from artifacts_fixtures import (
    ArtifactSite,
    artifact_site_make,
    content_digest,
    content_make,
    intent,
    parts_of,
)

from gpuaas_contract.artifacts import PART_BYTES_MAX
from gpuaas_platform.artifacts import sources
from gpuaas_platform.artifacts.blob_store import blob_store_of
from gpuaas_platform.artifacts.life import orphans_turn, sweep_turn
from gpuaas_platform.kernel.call import Platform

CONTENT = content_make(12 * 1024 * 1024 + 17)


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> ArtifactSite:
    return await artifact_site_make(client, platform, callers)


async def test_parts_become_a_published_artifact(site: ArtifactSite) -> None:
    source = await site.shared()
    artifact = await site.published(source, CONTENT, site.root)
    assert artifact["digest"] == intent(CONTENT)["digest"]
    assert artifact["size"] == len(CONTENT)
    assert (artifact["trust"], artifact["channels"]) == ("unverified", [])
    assert artifact["source_address"] == "blob://platform/base"
    read = blob_store_of(site.platform).read(artifact["id"], 0, len(CONTENT))
    assert b"".join([chunk async for chunk in read]) == CONTENT
    source_now = await site.seen(f"/artifact-sources/{source}", site.viewer)
    assert source_now["bytes_used"] == len(CONTENT)


async def test_an_upload_goes_on_where_it_broke_off(site: ArtifactSite) -> None:
    source = await site.shared()
    path = f"/artifact-sources/{source}/artifacts"
    made = await site.made(path, site.root, intent(CONTENT))
    parts = parts_of(CONTENT)
    assert (await site.part(made["id"], 2, parts[1], site.root)).status_code == 200
    again = await site.made(path, site.root, intent(CONTENT))
    assert again["id"] == made["id"]
    upload = await site.seen(f"/artifacts/{made['id']}/upload", site.root)
    assert (upload["parts_total"], upload["parts_received"]) == (3, 1)
    assert upload["missing"] == [1, 3]
    early = await site.ask("POST", f"/artifacts/{made['id']}/complete", site.root)
    assert early.status_code == 409
    assert "the next to send is 1" in early.json()["detail"]
    for number in (2, 1, 3, 3):  # a part sent again changes nothing
        assert (await site.part(made["id"], number, parts[number - 1], site.root)).is_success
    assert (await site.ask("POST", f"/artifacts/{made['id']}/complete", site.root)).is_success
    done = await site.seen(f"/artifacts/{made['id']}", site.root, wait="20s")
    assert done["status"] == "published"
    late = await site.part(made["id"], 1, parts[0], site.root)
    assert (late.status_code, late.json()["code"]) == (409, "state_conflict")


async def test_a_part_that_is_not_what_it_says_is_refused(site: ArtifactSite) -> None:
    source = await site.shared()
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intent(CONTENT))
    path = f"/artifacts/{made['id']}/parts/1"
    first = parts_of(CONTENT)[0]
    other = b"x" + first[1:]
    cases: list[tuple[bytes, dict[str, str], str]] = [
        (other, {"Content-Digest": content_digest(first)}, "/body"),
        (first[:-1], {"Content-Digest": content_digest(first[:-1])}, "/headers/Content-Length"),
        (first, {"Content-Digest": "sha-256=:nonsense:"}, "/headers/Content-Digest"),
        (first, {}, "/headers/Content-Digest"),
    ]
    for content, headers, pointer in cases:
        answer = await site.client.put(path, content=content, headers=site.root | headers)
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["pointer"] == pointer
    beyond = await site.client.put(
        f"/artifacts/{made['id']}/parts/9",
        content=first,
        headers=site.root | {"Content-Digest": content_digest(first)},
    )
    assert beyond.json()["errors"][0]["pointer"] == "/path/number"
    upload = await site.seen(f"/artifacts/{made['id']}/upload", site.root)
    assert upload["parts_received"] == 0


async def test_only_parts_may_be_large(site: ArtifactSite) -> None:
    source = await site.shared()
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intent(CONTENT))
    large = b"x" * (2 * 1024 * 1024)
    elsewhere = await site.client.post("/artifact-sources", content=large, headers=site.root)
    assert elsewhere.status_code == 413
    path = f"/artifacts/{made['id']}/parts/1"
    too_large = await site.client.put(path, content=b"x" * (PART_BYTES_MAX + 1), headers=site.root)
    assert (too_large.status_code, too_large.json()["code"]) == (413, "request_too_large")


async def test_content_with_another_digest_fails_and_goes(site: ArtifactSite) -> None:
    source = await site.shared()
    wrong = intent(CONTENT) | {"digest": f"sha256:{'0' * 64}"}
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, wrong)
    for number, part in enumerate(parts_of(CONTENT), 1):
        assert (await site.part(made["id"], number, part, site.root)).is_success
    await site.made(f"/artifacts/{made['id']}/complete", site.root, None)
    failed = await site.seen(f"/artifacts/{made['id']}", site.root, wait="20s")
    assert failed["status"] == "failed"
    assert "not what was announced" in failed["status_reason"]
    await sweep_turn(site.platform)
    assert _files(site) == []
    again = await site.published(source, CONTENT, site.root)  # what failed has no version
    assert again["status"] == "published"


async def test_a_version_never_changes(site: ArtifactSite) -> None:
    source = await site.shared()
    first = await site.published(source, CONTENT, site.root)
    path = f"/artifact-sources/{source}/artifacts"
    other = await site.ask("POST", path, site.root, intent(CONTENT[:-1]))
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert other.json()["context"]["artifact_id"] == first["id"]
    await site.made(f"/artifacts/{first['id']}/retire", site.root, {"reason": "Old."})
    again = await site.ask("POST", path, site.root, intent(CONTENT))
    assert again.status_code == 409


async def test_an_intent_nobody_finishes_ends_by_itself(site: ArtifactSite, clock: Any) -> None:
    source = await site.shared()
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intent(CONTENT))
    assert (await site.part(made["id"], 1, parts_of(CONTENT)[0], site.root)).is_success
    clock.advance(hours=23)
    assert (await site.part(made["id"], 2, parts_of(CONTENT)[1], site.root)).is_success
    clock.advance(hours=23)
    await sweep_turn(site.platform)
    assert (await site.seen(f"/artifacts/{made['id']}", site.root))["status"] == "intended"
    clock.advance(hours=2)
    await sweep_turn(site.platform)
    failed = await site.seen(f"/artifacts/{made['id']}", site.root, wait="5s")
    assert (failed["status"], failed["status_reason"]) == (
        "failed",
        "Its content did not come in time.",
    )
    await sweep_turn(site.platform)
    assert _files(site) == []


async def test_a_cancelled_intent_leaves_nothing(site: ArtifactSite) -> None:
    source = await site.shared()
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intent(CONTENT))
    assert (await site.part(made["id"], 1, parts_of(CONTENT)[0], site.root)).is_success
    await site.made(f"/artifacts/{made['id']}/cancel", site.root, {"reason": "A mistake."})
    await sweep_turn(site.platform)
    assert _files(site) == []


async def test_sizes_and_quotas_are_limits(site: ArtifactSite, settings: Any) -> None:
    source = await site.own()
    await site.allow("blob://*")
    path = f"/artifact-sources/{source}/artifacts"
    huge = intent(CONTENT) | {"size": settings.artifact_max_bytes + 1}
    answer = await site.ask("POST", path, site.boss, huge)
    assert answer.json()["errors"][0]["pointer"] == "/size"
    full = intent(CONTENT) | {"size": settings.artifact_max_bytes, "part_size": PART_BYTES_MAX}
    site.platform.settings.__dict__["artifact_tenant_bytes"] = 20 * 1024 * 1024
    site.platform.settings.__dict__["min_free_bytes"] = 0
    answer = await site.ask("POST", path, site.boss, full)
    assert (answer.status_code, answer.json()["code"]) == (409, "quota_exceeded")
    await site.published(source, CONTENT, site.boss)
    second = intent(CONTENT) | {"version": "2.0.0"}
    answer = await site.ask("POST", path, site.boss, second)
    assert answer.json()["code"] == "quota_exceeded"
    site.platform.settings.__dict__["min_free_bytes"] = 1 << 60
    tiny = intent(b"tiny") | {"version": "3.0.0"}
    answer = await site.ask("POST", path, site.boss, tiny)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert "no room" in answer.json()["detail"]


async def test_racing_requests_keep_to_the_limits_of_a_tenant(
    site: ArtifactSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_SOURCES_MAX", 2)
    path = f"/tenants/{site.place.org_id}/artifact-sources"
    named = (site.ask("POST", path, site.boss, {"name": f"s{number}"}) for number in range(5))
    answers = await asyncio.gather(*named)
    assert sorted(answer.status_code for answer in answers) == [201, 201, 409, 409, 409]
    await site.allow("blob://*")
    site.platform.settings.__dict__["artifact_tenant_bytes"] = len(CONTENT)
    made = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    wanted = (
        site.ask("POST", f"/artifact-sources/{source}/artifacts", site.boss, intent(CONTENT))
        for source in made
    )
    assert sorted(answer.status_code for answer in await asyncio.gather(*wanted)) == [201, 409]


async def test_what_nobody_knows_of_is_swept(site: ArtifactSite, clock: Any) -> None:
    source = await site.shared()
    artifact = await site.published(source, CONTENT, site.root)
    await sweep_turn(site.platform)
    folder = site.platform.settings.data_dir / "artifacts"
    unknown = f"art_{'0' * 24}zz"
    late = folder / "uploads" / artifact["id"]
    left = (folder / "content" / "zz" / unknown, folder / "uploads" / unknown / "1", late / "1")
    for path in left:
        while not path.exists():  # the platform's own sweep may be at the upload's folder just now
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                path.write_bytes(b"left over")
    (folder / "content" / "README").write_text("not ours")
    clock.advance(days=4000)
    await orphans_turn(site.platform)
    assert {path.name for path in _files(site)} == {"README", artifact["id"]}


async def test_a_damaged_store_is_told(site: ArtifactSite) -> None:
    source = await site.shared()
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intent(CONTENT))
    for number, part in enumerate(parts_of(CONTENT), 1):
        assert (await site.part(made["id"], number, part, site.root)).is_success
    folder = site.platform.settings.data_dir / "artifacts" / "uploads" / made["id"]
    (folder / "2").unlink()
    await site.made(f"/artifacts/{made['id']}/complete", site.root, None)
    failed = await site.seen(f"/artifacts/{made['id']}", site.root, wait="20s")
    assert failed["status"] == "failed"
    assert "a part" in failed["status_reason"]


async def test_nothing_is_read_into_memory_at_once(site: ArtifactSite) -> None:
    """The store is given chunks; the largest of them is far smaller than the part."""
    seen: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(first), 65_536):
            yield first[start : start + 65_536]

    first = parts_of(CONTENT)[0]
    blobs = blob_store_of(site.platform)

    class Watched:
        size = len(first)

        async def chunks(self) -> AsyncIterator[bytes]:
            async for chunk in body():
                seen.append(len(chunk))
                yield chunk

    key = f"art_{'0' * 24}aa"
    await blobs.part_write(key, await blobs.upload_begin(key), 1, Watched())
    assert max(seen) == 65_536
    await blobs.delete(key, "")


def _files(site: ArtifactSite) -> list[Path]:
    folder = site.platform.settings.data_dir / "artifacts"
    return sorted(path for path in folder.rglob("*") if path.is_file())
