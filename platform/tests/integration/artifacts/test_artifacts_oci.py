"""Images pulled by digest from a real registry, kept as one archive, and every way it can fail."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from artifacts_fixtures import ArtifactSite, SigningKey, artifact_site_make, content_make
from registry_server import PASSWORD, USER, Registry, registry_program, registry_running
from registry_tokens import token_service

from gpuaas_contract.artifacts import PART_BYTES_MAX
from gpuaas_platform.artifacts.life import sweep_turn
from gpuaas_platform.kernel.call import Platform

LAYERS = [b"a small layer", content_make(PART_BYTES_MAX + 3_000_001)]
REPOSITORY = "team/tools"


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    if registry_program() is None:
        pytest.skip("no docker-registry on this host, and its package cannot be fetched")
    with registry_running() as server:
        yield server


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> ArtifactSite:
    return await artifact_site_make(client, platform, callers)


async def _source(site: ArtifactSite, registry: Registry, **body: Any) -> str:
    address = f"oci://{registry.host}/{REPOSITORY}"
    return await site.shared("reg", kind="oci", address=address, plain_http=True, **body)


async def _pulled(site: ArtifactSite, source: str, digest: str, **body: Any) -> Any:
    wanted = {"name": "tools", "version": "1.0.0", "platform": "debian-12/amd64"}
    path = f"/artifact-sources/{source}/artifacts"
    made = await site.made(path, site.root, wanted | {"digest": digest} | body)
    assert made["status"] == "ingesting"
    return await site.seen(f"/artifacts/{made['id']}", site.root, wait="30s")


async def test_an_image_is_pulled_verified_and_delivered(
    site: ArtifactSite, registry: Registry
) -> None:
    digest = registry.push(REPOSITORY, LAYERS)
    key = SigningKey()
    source = await _source(site, registry)
    keys = f"/artifact-sources/{source}/keys"
    await site.made(keys, site.root, {"name": "release", "public_key": key.pem})
    artifact = await _pulled(site, source, digest)
    assert (artifact["status"], artifact["reference"]) == ("published", digest)
    issued = await site.delivery(artifact["id"])
    archive = (await site.fetched(issued)).content
    assert f"sha256:{hashlib.sha256(archive).hexdigest()}" == artifact["digest"]
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}  # type: ignore[union-attr]
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    named = json.loads(files["index.json"])["manifests"][0]
    assert named["digest"] == digest
    assert named["annotations"]["org.opencontainers.image.ref.name"] == "tools:1.0.0"
    for name, content in files.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"
    manifest = files[f"blobs/sha256/{digest[7:]}"]
    signed = await site.made(
        f"/artifacts/{artifact['id']}/sign", site.root, {"signature": key.sign(manifest)}
    )
    assert signed["trust"] == "verified"
    again = await _pulled(site, source, digest, version="1.0.0-again", name="tools")
    assert again["size"] == artifact["size"]


async def test_an_index_gives_the_image_of_the_platform(
    site: ArtifactSite, registry: Registry
) -> None:
    images = {name: registry.push(REPOSITORY, [name.encode()]) for name in ("amd64", "arm64")}
    index = registry.index(REPOSITORY, images)
    source = await _source(site, registry)
    artifact = await _pulled(site, source, index)
    assert (artifact["status"], artifact["reference"]) == ("published", index)
    content = (await site.fetched(await site.delivery(artifact["id"]))).content
    assert images["amd64"][7:].encode() in content
    other = await _pulled(site, source, index, version="2", platform="any")
    assert other["status"] == "failed"
    assert "index with 0 images for any" in other["status_reason"]


async def test_what_the_registry_has_wrong_is_never_published(
    site: ArtifactSite, registry: Registry
) -> None:
    digest = registry.push(REPOSITORY, [b"to be damaged", b"good"])
    registry.damage(f"sha256:{hashlib.sha256(b'to be damaged').hexdigest()}")
    source = await _source(site, registry)
    failed = await _pulled(site, source, digest)
    assert failed["status"] == "failed"
    assert "is not what its name says" in failed["status_reason"]
    missing = await _pulled(site, source, f"sha256:{'1' * 64}", version="2")
    assert (missing["status"], "no such manifest" in missing["status_reason"]) == ("failed", True)
    await sweep_turn(site.platform)
    folder = site.platform.settings.data_dir / "artifacts"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


async def test_a_registry_with_a_password(site: ArtifactSite, capfd: Any) -> None:
    with registry_running(closed=True) as registry:
        digest = registry.push(REPOSITORY, [b"behind a door"])
        source = await _source(site, registry)
        refused = await _pulled(site, source, digest)
        assert refused["status"] == "failed"
        assert "asks for a user name" in refused["status_reason"]
        login = {"username": USER, "password": f"not-{PASSWORD}"}
        answer = await site.ask("PATCH", f"/artifact-sources/{source}", site.root, login)
        assert answer.json()["username"] == USER
        refused = await _pulled(site, source, digest, version="2")
        assert "does not accept" in refused["status_reason"]
        login["password"] = PASSWORD
        await site.ask("PATCH", f"/artifact-sources/{source}", site.root, login)
        pulled = await _pulled(site, source, digest, version="3")
        assert pulled["status"] == "published"
    for table in ("artifact_sources", "artifacts", "audit_entries", "outbox", "requests"):
        rows = await site.platform.db.fetch(f"SELECT t::text AS line FROM {table} t")  # noqa: S608 - names of tables
        assert all(PASSWORD not in row["line"] for row in rows)
    said = capfd.readouterr()
    assert PASSWORD not in said.out + said.err


async def test_a_registry_whose_tokens_another_service_gives(
    site: ArtifactSite, registry: Registry, tmp_path: Path
) -> None:
    """As public registries do it: a challenge, a token from elsewhere for a password, the pull."""
    digest = registry.push(REPOSITORY, [b"behind a token"])
    with (
        token_service(tmp_path) as service,
        registry_running(data=registry.folder / "data", auth=service.auth) as closed,
    ):
        source = await _source(site, closed, username=USER, password=PASSWORD)
        pulled = await _pulled(site, source, digest)
        assert pulled["status"] == "published", pulled
        assert service.asked == [f"repository:{REPOSITORY}:pull"]
        wrong = {"username": USER, "password": "wrong"}
        await site.ask("PATCH", f"/artifact-sources/{source}", site.root, wrong)
        refused = await _pulled(site, source, digest, version="2")
    assert (refused["status"], "does not accept" in refused["status_reason"]) == ("failed", True)


async def test_a_tenants_source_cannot_reach_inside(site: ArtifactSite, registry: Registry) -> None:
    """The name is judged when it is looked up: `localhost` passes the form and goes nowhere.

    What is refused reads as what does not exist and what does not answer.
    """
    port = registry.host.rpartition(":")[2]
    await site.allow("oci://*")
    for name, host in (("in", f"localhost:{port}"), ("none", "nothing.invalid")):
        address = f"oci://{host}/{REPOSITORY}"
        source = await site.own(name, kind="oci", address=address)
        path = f"/artifact-sources/{source}/artifacts"
        body = {"name": "tools", "version": "1", "digest": f"sha256:{'1' * 64}"}
        made = await site.made(path, site.boss, body)
        seen = made
        for _ in range(1200):
            if seen["status_reason"]:
                break
            seen = await site.seen(f"/artifacts/{made['id']}", site.boss, wait="100ms")
        said = f"The registry {host} does not answer; try again."
        assert (seen["status"], seen["status_reason"]) == ("ingesting", said)


async def test_a_registry_that_does_not_answer_is_tried_again(
    site: ArtifactSite, registry: Registry, clock: Any
) -> None:
    digest = registry.push(REPOSITORY, [b"later"])
    source = await site.shared(
        "gone", kind="oci", address=f"oci://127.0.0.1:9/{REPOSITORY}", plain_http=True
    )
    body = {"name": "tools", "version": "1", "digest": digest}
    made = await site.made(f"/artifact-sources/{source}/artifacts", site.root, body)
    seen = made
    for _ in range(1200):
        if seen["status_reason"]:
            break
        seen = await site.seen(f"/artifacts/{made['id']}", site.root, wait="100ms")
    assert (seen["status"], "does not answer" in seen["status_reason"]) == ("ingesting", True)
    given_up = await site.made(
        f"/artifact-sources/{source}/artifacts", site.root, body | {"version": "2"}
    )
    cancel = f"/artifacts/{given_up['id']}/cancel"
    ended = await site.made(cancel, site.root, {"reason": "It is gone."})
    assert (ended["status"], ended["status_reason"]) == ("failed", "It is gone.")
    for _ in range(12):
        clock.advance(minutes=30)
        site.platform.signals.send(("artifacts.ingest",))
        seen = await site.seen(f"/artifacts/{made['id']}", site.root, wait="300ms")
        if seen["status"] == "failed":
            break
    assert seen["status"] == "failed"
    assert "Given up after 8 attempts" in seen["status_reason"]
