"""A served platform that is killed while artifacts come and go: nothing is lost, nothing is left.

The real process on its embedded database; kill -9 between a part and its record, between the word
that all parts came and the end of verifying, and in the middle of a fetch that then goes on.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from artifacts_fixtures import content_digest, content_make, intent, parts_of
from eventually import eventually
from identity_fixtures import ADMIN, PASSWORD
from served_platform import ServedPlatform

from gpuaas_contract.common import CSRF_HEADER
from gpuaas_contract.identity import CSRF_COOKIE

CONTENT = content_make(33 * 1024 * 1024 + 3)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gpuaas-crash-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


class Killable:
    """The platform on one data folder, as often as it is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._password = folder / "password"
        self._password.write_text(PASSWORD)
        self._served: ServedPlatform | None = None
        self._token = ""

    async def start(self) -> httpx2.AsyncClient:
        """Start it (again) and speak to it as its administrator."""
        self._served = ServedPlatform(
            {
                "GPUAAS_DATA_DIR": str(self._folder / "data"),
                "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": ADMIN,
                "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(self._password),
            }
        )
        url = await asyncio.to_thread(self._served.await_listening)
        client = httpx2.AsyncClient(base_url=url, timeout=60)
        if not self._token:
            self._token = await _token(client)
        client.headers["Authorization"] = f"Bearer {self._token}"
        return client

    async def kill(self, client: httpx2.AsyncClient) -> None:
        """Kill -9."""
        assert self._served is not None
        await asyncio.to_thread(self._served.kill)
        self._served.close()
        await client.aclose()

    def close(self) -> None:
        """Whatever happened, nothing of it runs on."""
        if self._served is not None:
            if self._served.process.poll() is None:
                self._served.stop()  # in order: its database ends with it, before the folder goes
            self._served.close()

    @property
    def files(self) -> list[str]:
        """What lies in the store."""
        root = self._folder / "data" / "artifacts"
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.fixture
def killable(folder: Path) -> Iterator[Killable]:
    made = Killable(folder)
    yield made
    made.close()


async def test_kills_between_upload_and_publication_converge(killable: Killable) -> None:
    client = await killable.start()
    source = (await _made(client, "/artifact-sources", {"name": "base"}))["id"]
    path = f"/artifact-sources/{source}/artifacts"
    artifact_id = (await _made(client, path, intent(CONTENT)))["id"]
    parts = parts_of(CONTENT)
    await _put(client, artifact_id, 1, parts[0])
    files, killed = len(killable.files), asyncio.Event()
    half_sent = asyncio.create_task(_put_half(client, artifact_id, parts[1], killed))
    await eventually(lambda: len(killable.files) > files, what="a part that is being written")
    await killable.kill(client)
    killed.set()
    with pytest.raises(httpx2.HTTPError):
        await half_sent

    client = await killable.start()
    upload = (await client.get(f"/artifacts/{artifact_id}/upload")).json()
    assert (upload["parts_received"], upload["missing"][0]) == (1, 2)
    assert (await _made(client, path, intent(CONTENT)))["id"] == artifact_id
    for number in upload["missing"]:
        await _put(client, artifact_id, number, parts[number - 1])
    done = asyncio.create_task(client.post(f"/artifacts/{artifact_id}/complete"))
    assert (await done).status_code == 202
    await killable.kill(client)  # before, in or after the verification: all must end the same

    client = await killable.start()
    artifact = (await client.get(f"/artifacts/{artifact_id}", params={"wait": "20s"})).json()
    for _ in range(200):  # the lease of the one that was killed has to lapse first
        if artifact["status"] != "ingesting":
            break
        artifact = (await client.get(f"/artifacts/{artifact_id}", params={"wait": "20s"})).json()
    assert artifact["status"] == "published", artifact
    assert artifact["digest"] == f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
    content = [f"content/{artifact_id[-2:]}/{artifact_id}"]
    await eventually(lambda: killable.files == content, within=120)
    await _made(client, f"/artifacts/{artifact_id}/retire", {"reason": "Over."})
    await eventually(lambda: killable.files == [], within=120)
    await client.aclose()


async def _token(client: httpx2.AsyncClient) -> str:
    answer = await client.post("/sessions", json={"email": ADMIN, "password": PASSWORD})
    assert answer.is_success, answer.text
    csrf = {CSRF_HEADER: client.cookies[CSRF_COOKIE]}
    answer = await client.post("/personal-tokens", json={"name": "crash"}, headers=csrf)
    client.cookies.clear()
    return str(answer.json()["secret"])


async def _made(client: httpx2.AsyncClient, path: str, body: dict[str, Any]) -> Any:
    answer = await client.post(path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


async def _put(client: httpx2.AsyncClient, artifact_id: str, number: int, part: bytes) -> None:
    headers = {"Content-Digest": content_digest(part)}
    path = f"/artifacts/{artifact_id}/parts/{number}"
    answer = await client.put(path, content=part, headers=headers)
    assert answer.status_code == 200, answer.text


async def _put_half(
    client: httpx2.AsyncClient, artifact_id: str, part: bytes, killed: asyncio.Event
) -> None:
    """Send half of the second part, and the rest once nobody is there to receive it."""

    async def halves() -> Any:
        yield part[: len(part) // 2]
        await killed.wait()
        yield part[len(part) // 2 :]

    headers = {"Content-Digest": content_digest(part), "Content-Length": str(len(part))}
    await client.put(f"/artifacts/{artifact_id}/parts/2", content=halves(), headers=headers)
