"""Artifacts from the SDK without a platform: what is sent, what not, the machine's script."""

import base64
import hashlib
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gpuaas_contract.artifacts import PART_BYTES_MAX, Artifact
from gpuaas_contract.states import ArtifactStatus
from gpuaas_sdk import BearerToken, Client, PermanentFailure
from gpuaas_sdk.artifact_scripts import Fetching, fetch_script, part_path, verify_script
from gpuaas_sdk.artifacts import ArtifactFailed, Publication, artifact_publish

CONTENT = bytes(range(256)) * (PART_BYTES_MAX // 256 * 2) + b"the end"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WANTED = Fetching("/opt/it's here/x.tar", f"sha256:{'a' * 64}", 10, 0o640, "root:daemon")


class Source:
    """The platform's side of an upload, in memory."""

    def __init__(self, received: set[int], end: ArtifactStatus = ArtifactStatus.PUBLISHED) -> None:
        self.received = received
        self.sent: list[int] = []
        self._status = ArtifactStatus.INTENDED
        self._end = end

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/api/v1")
        if path == "/artifact-sources":
            return httpx2.Response(200, json={"items": [_source()]})
        if path.endswith("/upload"):
            missing = [number for number in (1, 2, 3) if number not in self.received]
            return httpx2.Response(200, json=_upload(missing))
        if "/parts/" in path:
            return self._part(request, int(path.rsplit("/", 1)[1]))
        if path.endswith("/complete"):
            assert self.received == {1, 2, 3}
            self._status = ArtifactStatus.INGESTING
        elif request.method == "GET":
            self._status = self._end
        return httpx2.Response(200, content=_artifact(self._status).model_dump_json())

    def _part(self, request: httpx2.Request, number: int) -> httpx2.Response:
        digest = base64.b64encode(hashlib.sha256(request.content).digest()).decode()
        assert request.headers["Content-Digest"] == f"sha-256=:{digest}:"
        start = (number - 1) * PART_BYTES_MAX
        assert request.content == CONTENT[start : start + PART_BYTES_MAX]
        self.sent.append(number)
        self.received.add(number)
        said = {"artifact_id": "art_1", "number": number, "size": 1, "digest": "sha256:x"}
        return httpx2.Response(200, json=said | {"received_at": NOW.isoformat()})


def _client(source: Source) -> Client:
    transport = httpx2.MockTransport(source.answer)
    return Client("http://test", BearerToken("t"), transport=transport)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "content"
    path.write_bytes(CONTENT)
    return path


async def test_only_what_is_missing_is_sent(file: Path) -> None:
    source = Source({2})
    async with _client(source) as client:
        artifact = await artifact_publish(client, file, Publication("base", "runtime", "1"))
    assert artifact.status is ArtifactStatus.PUBLISHED
    assert sorted(source.sent) == [1, 3]


async def test_a_publication_that_failed_says_why(file: Path) -> None:
    async with _client(Source(set(), ArtifactStatus.FAILED)) as client:
        with pytest.raises(ArtifactFailed, match="was not published: it is wrong"):
            await artifact_publish(client, file, Publication("src_1", "runtime", "1"))


async def test_a_source_that_is_not_there(file: Path) -> None:
    async with _client(Source(set())) as client:
        with pytest.raises(PermanentFailure, match="no source 'nowhere'"):
            await artifact_publish(client, file, Publication("nowhere", "runtime", "1"))


def test_the_scripts_are_shell_whatever_the_path(tmp_path: Path) -> None:
    for number, script in enumerate((fetch_script(WANTED), verify_script(WANTED, "/x y"))):
        path = tmp_path / str(number)
        path.write_text(script)
        command = ["sh", "-n", str(path)]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
    assert part_path(WANTED) == f"/opt/it's here/.gpuaas-{'a' * 32}.part"
    for wrong in ("x.tar", "/opt/"):
        with pytest.raises(ValueError, match="absolute path"):
            fetch_script(Fetching(wrong, WANTED.digest, 1, 0o644, "root:root"))


def test_what_is_there_is_not_fetched_and_what_is_wrong_is_removed(tmp_path: Path) -> None:
    """The script itself, on this machine, with nothing to fetch from."""
    path = tmp_path / "x.tar"
    digest = f"sha256:{hashlib.sha256(b'hello').hexdigest()}"
    owner = f"{path.owner() if path.exists() else tmp_path.owner()}:{tmp_path.group()}"
    wanted = Fetching(str(path), digest, 5, 0o600, owner)
    path.write_bytes(b"hello")
    assert _run(fetch_script(wanted)).stdout == "present\n"
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    arrived = tmp_path / "arrived"
    arrived.write_bytes(b"hellO")
    wrong = _run(verify_script(wanted, str(arrived)))
    assert (wrong.returncode, arrived.exists()) == (44, False)
    arrived.write_bytes(b"hello")
    assert _run(verify_script(wanted, str(arrived))).stdout == "fetched\n"
    assert path.read_bytes() == b"hello"


def _run(script: str) -> "subprocess.CompletedProcess[str]":
    command = ["sh", "-c", script]
    return subprocess.run(command, input="\n", capture_output=True, text=True, check=False)


def _source() -> dict[str, Any]:
    return {
        "id": "src_1", "org_id": None, "name": "base", "kind": "blob",
        "address": "blob://platform/base", "description": "", "plain_http": False,
        "username": None, "signature_required": False, "project_publish": False, "enabled": True,
        "bytes_used": 0, "revision": 1, "created_by": "u", "correlation_id": "c",
        "created_at": NOW.isoformat(),
    }  # fmt: skip


def _upload(missing: list[int]) -> dict[str, Any]:
    return {
        "artifact_id": "art_1", "status": "intended", "size": len(CONTENT),
        "part_size": PART_BYTES_MAX, "parts_total": 3, "parts_received": 3 - len(missing),
        "missing": missing,
    }  # fmt: skip


def _artifact(status: ArtifactStatus) -> Artifact:
    said: dict[str, Any] = {
        "id": "art_1", "org_id": None, "source_id": "src_1", "kind": "blob", "name": "runtime",
        "source_address": "blob://platform/base", "version": "1", "platform": "any",
        "description": "", "media_type": "text/plain", "digest": f"sha256:{'a' * 64}",
        "size": len(CONTENT), "reference": None, "status": status, "trust": "unverified",
        "status_reason": "it is wrong", "trust_reason": "", "key_id": None, "channels": [],
        "expires_at": None, "revision": 1, "created_by": "u", "correlation_id": "c",
        "created_at": NOW, "published_at": None,
    }  # fmt: skip
    return Artifact.model_validate(said)
