"""The same room on a real S3 server: publish, deliver, sweep, and what an outage does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from artifacts_fixtures import (
    ArtifactSite,
    artifact_site_make,
    content_make,
    intent,
    parts_of,
)
from s3_server import BUCKET, S3Server, s3_running

from gpuaas_platform.artifacts.blob_store import Part, blob_store_of
from gpuaas_platform.artifacts.life import orphans_turn, store_open, sweep_turn
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.settings import Settings

CONTENT = content_make(12 * 1024 * 1024 + 17)


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_running() as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, s3: S3Server) -> Settings:
    return Settings(
        data_dir=tmp_path, rate_limit_per_second=1e6, rate_limit_burst=1_000_000, **s3.settings
    )


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> ArtifactSite:
    return await artifact_site_make(client, platform, callers)


def _held(s3: S3Server) -> list[str]:
    text = s3.ask("GET", f"/{BUCKET}", **{"list-type": "2", "prefix": "artifacts/"}).text
    return [part.split("</Key>")[0] for part in text.split("<Key>")[1:]]


async def test_published_delivered_and_swept(site: ArtifactSite, s3: S3Server) -> None:
    source = await site.shared()
    artifact = await site.published(source, CONTENT, site.root)
    assert artifact["digest"] == intent(CONTENT)["digest"]
    assert _held(s3) == [f"artifacts/{artifact['id']}"]
    issued = await site.delivery(artifact["id"])
    assert (await site.fetched(issued)).content == CONTENT
    half = await site.fetched(issued, Range="bytes=7000000-")
    assert (half.status_code, half.content == CONTENT[7_000_000:]) == (206, True)
    await site.made(f"/artifacts/{artifact['id']}/retire", site.root, {"reason": "Over."})
    await sweep_turn(site.platform)
    assert _held(s3) == []


async def test_uploads_resume_and_leave_nothing(
    site: ArtifactSite, s3: S3Server, clock: Any
) -> None:
    source = await site.shared()
    path = f"/artifact-sources/{source}/artifacts"
    made = await site.made(path, site.root, intent(CONTENT))
    parts = parts_of(CONTENT)
    for number in (3, 1):
        assert (await site.part(made["id"], number, parts[number - 1], site.root)).is_success
    upload = await site.seen(f"/artifacts/{made['id']}/upload", site.root)
    assert upload["missing"] == [2]
    wrong = await site.client.put(
        f"/artifacts/{made['id']}/parts/2",
        content=parts[0],
        headers=site.root | {"Content-Digest": "sha-256=:" + "A" * 43 + "=:"},
    )
    assert wrong.status_code == 422
    await site.made(f"/artifacts/{made['id']}/cancel", site.root, {"reason": "A mistake."})
    await sweep_turn(site.platform)
    clock.advance(days=4000)
    await orphans_turn(site.platform)
    left = [held async for held in blob_store_of(site.platform).held()]
    assert left == []


async def test_a_finished_upload_can_be_finished_again(site: ArtifactSite) -> None:
    """A crash after the parts were joined: the next attempt finds the whole and reads it."""
    source = await site.shared()
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intent(CONTENT))
    for number, part in enumerate(parts_of(CONTENT), 1):
        assert (await site.part(made["id"], number, part, site.root)).is_success
    row = await site.platform.db.fetchrow("SELECT upload FROM artifacts WHERE id = $1", made["id"])
    assert row is not None
    kept = await site.platform.db.fetch(
        "SELECT * FROM artifact_parts WHERE artifact_id = $1 ORDER BY number", made["id"]
    )
    parts = [Part(one["number"], one["size"], one["tag"]) for one in kept]
    blobs = blob_store_of(site.platform)
    first = await blobs.upload_finish(made["id"], row["upload"], parts)
    assert first == await blobs.upload_finish(made["id"], row["upload"], parts)
    await site.made(f"/artifacts/{made['id']}/complete", site.root, None)
    done = await site.seen(f"/artifacts/{made['id']}", site.root, wait="20s")
    assert (done["status"], done["digest"]) == ("published", first.digest)


async def test_an_outage_is_told_and_passes(site: ArtifactSite, clock: Any) -> None:
    source = await site.shared()
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, intent(b"x" * 99))
    wrong = store_open(
        site.platform.settings.model_copy(update={"s3_endpoint": "http://127.0.0.1:9"})
    )
    right = site.platform.parts["artifacts.blob_store"]
    site.platform.parts["artifacts.blob_store"] = wrong
    refused = await site.part(made["id"], 1, b"x" * 99, site.root)
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    site.platform.parts["artifacts.blob_store"] = right
    assert (await site.part(made["id"], 1, b"x" * 99, site.root)).is_success
    site.platform.parts["artifacts.blob_store"] = wrong
    await site.made(f"/artifacts/{made['id']}/complete", site.root, None)
    waiting = await site.seen(f"/artifacts/{made['id']}", site.root, wait="1s")
    assert waiting["status"] == "ingesting"
    for _ in range(1200):
        waiting = await site.seen(f"/artifacts/{made['id']}", site.root, wait="100ms")
        if waiting["status_reason"]:
            break
    assert "does not answer" in waiting["status_reason"]
    site.platform.parts["artifacts.blob_store"] = right
    clock.advance(minutes=5)
    site.platform.signals.send(("artifacts.ingest",))
    done = await site.seen(f"/artifacts/{made['id']}", site.root, wait="20s")
    assert done["status"] == "published"
    await wrong.close()
