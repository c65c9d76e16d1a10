"""Artifacts for an app: publish a file, find what policy gives for a name, bring it to machines.

    found = await artifact_resolve(client, project_id, Wanted("runtime", version="1.2.0"))
    await artifact_deliver(client, machine, Delivery(found.artifact, "/opt/runtime.tar"))

A machine fetches by itself, from the platform, by a URL for it alone; where it cannot, the content
goes over the session. Either way it is verified there, and doing it twice is harmless.
"""

import asyncio
import base64
import hashlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gpuaas_contract.artifacts import (
    ANY_PLATFORM,
    CONTENT_DIGEST_HEADER,
    CONTENT_MEDIA_TYPE,
    DELIVERY_SECONDS,
    DELIVERY_SECONDS_MAX,
    Artifact,
    ArtifactCreate,
    ArtifactDeliveryCreate,
    ArtifactDeliveryIssued,
    ArtifactPart,
    ArtifactResolution,
    ArtifactSource,
    ArtifactUpload,
)
from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.states import ArtifactStatus, ArtifactTrust
from gpuaas_sdk.artifact_scripts import (
    NO_TOOL,
    NO_WAY,
    REFUSED,
    Fetching,
    fetch_script,
    part_path,
    verify_script,
)
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.failures import PermanentFailure
from gpuaas_sdk.machines.failures import MachineFailure, ScriptFailed
from gpuaas_sdk.machines.machine import Machine
from gpuaas_sdk.machines.machines import Machines
from gpuaas_sdk.machines.values import File

__all__ = [
    "Artifact",
    "ArtifactResolution",
    "ArtifactStatus",
    "ArtifactTrust",
    "Delivered",
    "Delivery",
    "Publication",
    "Wanted",
    "artifact_deliver",
    "artifact_deliver_each",
    "artifact_publish",
    "artifact_resolve",
]

_PARALLEL: Final = 4
_WAIT_SECONDS: Final = 30
_RENEWALS: Final = 3
_SLOWEST: Final = 4_000_000  # bytes a second a delivery is planned for
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Publication:
    """What to publish a file as. The source is an id, a name or an address."""

    source: str
    name: str
    version: str
    platform: str = ANY_PLATFORM
    description: str = ""
    media_type: str = CONTENT_MEDIA_TYPE
    signature: str | None = None


@dataclass(frozen=True)
class Wanted:
    """What is looked for: a version of a name, or what a channel points at."""

    name: str
    version: str | None = None
    channel: str | None = None
    platform: str = ANY_PLATFORM
    source: str | None = None


@dataclass(frozen=True)
class Delivery:
    """An artifact and how it is to lie on a machine.

    `base_url` is how machines reach the platform, where the platform cannot know it.
    """

    artifact: Artifact
    path: str
    mode: int = 0o644
    owner: str = "root"
    group: str = "root"
    purpose: str = ""
    base_url: str | None = None


@dataclass(frozen=True)
class Delivered:
    """An artifact that lies on a machine, verified there, and how it came."""

    path: str
    digest: str
    how: Literal["present", "fetched", "pushed"]
    seconds: float


class ArtifactFailed(PermanentFailure):
    """The platform did not publish what was sent; its reason says why."""

    def __init__(self, artifact: Artifact) -> None:
        text = f"{artifact.name} {artifact.version} was not published: {artifact.status_reason}"
        super().__init__("artifact_failed", text, detail={"artifact_id": artifact.id})


async def artifact_publish(
    client: Client, path: Path, wanted: Publication, *, parallel: int = _PARALLEL
) -> Artifact:
    """Publish a file. What an earlier attempt has sent is not sent again."""
    source_id = await _source_id(client, wanted.source)
    size, digest = await asyncio.to_thread(_digested, path)
    body = ArtifactCreate(
        name=wanted.name,
        version=wanted.version,
        platform=wanted.platform,
        description=wanted.description,
        media_type=wanted.media_type,
        digest=f"sha256:{digest}",
        size=size,
        signature=wanted.signature,
    )
    artifact = await client.post(f"/artifact-sources/{source_id}/artifacts", body, Artifact)
    if artifact.status is ArtifactStatus.INTENDED:
        await _parts_send(client, artifact.id, path, parallel)
        artifact = await client.post(f"/artifacts/{artifact.id}/complete", None, Artifact)
    while artifact.status is ArtifactStatus.INGESTING:
        params = {"wait": f"{_WAIT_SECONDS}s"}
        request = Request(
            "GET", f"/artifacts/{artifact.id}", params=params, wait=float(_WAIT_SECONDS)
        )
        artifact = await client.call(request, Artifact)
    if artifact.status is ArtifactStatus.FAILED:
        raise ArtifactFailed(artifact)
    return artifact


async def artifact_resolve(client: Client, project_id: str, wanted: Wanted) -> ArtifactResolution:
    """What a name means in a project, by its effective policy; a refusal explains itself."""
    return await client.get(
        f"/projects/{project_id}/artifact-resolution",
        ArtifactResolution,
        name=wanted.name,
        version=wanted.version,
        channel=wanted.channel,
        platform=wanted.platform,
        source=wanted.source,
    )


async def artifact_deliver(client: Client, machine: Machine, delivery: Delivery) -> Delivered:
    """Have a machine fetch an artifact, verify it and put it in place."""
    async with AsyncExitStack() as stack:
        return await _delivered(client, machine, delivery, _LocalCopy(stack))


async def artifact_deliver_each(
    client: Client, machines: Machines, allocation_ids: Iterable[str], delivery: Delivery
) -> dict[str, Delivered | MachineFailure]:
    """The same on many machines at once, each on its own; one copy here serves all that need it."""
    async with AsyncExitStack() as stack:
        copy = _LocalCopy(stack)

        async def one(machine: Machine) -> Delivered:
            return await _delivered(client, machine, delivery, copy)

        return await machines.each(allocation_ids, one)


async def _delivered(
    client: Client, machine: Machine, delivery: Delivery, copy: "_LocalCopy"
) -> Delivered:
    fetching, seconds = _fetching(delivery), 0.0
    for attempt in range(_RENEWALS):
        issued = await _issued(client, machine, delivery)
        url = _url(issued, delivery.base_url)
        ran = await machine.run(
            fetch_script(fetching),
            timeout=_timeout(delivery.artifact),
            input=f"{url}\n".encode(),
            check=False,
        )
        seconds += ran.seconds
        if ran.status == 0:
            how: Literal["present", "fetched"] = (
                "present" if ran.stdout.strip() == "present" else "fetched"
            )
            return Delivered(delivery.path, fetching.digest, how, seconds)
        if ran.status in {NO_WAY, NO_TOOL}:
            await _pushed(machine, fetching, await copy.path(client, issued))
            return Delivered(delivery.path, fetching.digest, "pushed", seconds)
        if ran.status != REFUSED or attempt == _RENEWALS - 1:
            what = f"Fetching {delivery.artifact.name} {delivery.artifact.version}"
            raise ScriptFailed(machine.allocation_id, ran, what)
    raise AssertionError("the last attempt returns or raises")


async def _issued(client: Client, machine: Machine, delivery: Delivery) -> ArtifactDeliveryIssued:
    """A URL, for long enough; one that ends on the way is asked for again and gone on with."""
    size = delivery.artifact.size or 0
    ttl = min(DELIVERY_SECONDS_MAX, DELIVERY_SECONDS + size // _SLOWEST)
    body = ArtifactDeliveryCreate(
        artifact_id=delivery.artifact.id, purpose=delivery.purpose, ttl_seconds=ttl
    )
    path = f"/allocations/{machine.allocation_id}/artifact-deliveries"
    correlation = machine.about.correlation_id or None
    request = Request("POST", path, body, correlation_id=correlation)
    return await client.call(request, ArtifactDeliveryIssued)


async def _pushed(machine: Machine, fetching: Fetching, local: Path) -> None:
    """Bring the content over the session, and verify it there all the same."""
    arrived = part_path(fetching)
    await machine.put(File(arrived, local, mode=0o600))
    await machine.run(verify_script(fetching, arrived), timeout=60 + fetching.size / 50_000_000)


class _LocalCopy:
    """The content here, fetched when the first machine needs it pushed, once for all of them."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._lock = asyncio.Lock()
        self._path: Path | None = None

    async def path(self, client: Client, issued: ArtifactDeliveryIssued) -> Path:
        """A file with the content; it is gone when the delivery is over."""
        async with self._lock:
            if self._path is None:
                folder = tempfile.TemporaryDirectory(prefix="gpuaas-artifact-")
                self._stack.callback(folder.cleanup)
                path = Path(folder.name) / "content"
                await _downloaded(client, issued, path)
                self._path = path
            return self._path


async def _downloaded(client: Client, issued: ArtifactDeliveryIssued, path: Path) -> None:
    where, _, token = issued.path.removeprefix(API_PREFIX).partition("?token=")
    request = Request("GET", where, params={"token": token})
    with path.open("wb") as file:
        async with client.stream(request) as response:
            async for chunk in response.aiter_raw(_CHUNK):
                await asyncio.to_thread(file.write, chunk)


async def _source_id(client: Client, source: str) -> str:
    """The id of a source that is named by its id, name or address."""
    found = [
        one.id
        async for one in client.pages("/artifact-sources", ArtifactSource)
        if source in {one.id, one.name, one.address}
    ]
    if len(found) == 1:
        return found[0]
    count = "no source" if not found else f"{len(found)} sources"
    raise PermanentFailure(
        "artifact_source_unknown", f"There is {count} {source!r} in reach; name it by its id."
    )


async def _parts_send(client: Client, artifact_id: str, path: Path, parallel: int) -> None:
    """Send what is missing, a few parts at once, until nothing is."""
    while True:
        upload = await client.get(f"/artifacts/{artifact_id}/upload", ArtifactUpload)
        if not upload.missing:
            return
        numbers = iter(upload.missing)

        async def sender(size: int = upload.part_size, numbers: Iterable[int] = numbers) -> None:
            for number in numbers:
                await _part_send(client, artifact_id, number, await _piece(path, number, size))

        async with asyncio.TaskGroup() as group:
            for _ in range(min(parallel, len(upload.missing))):
                group.create_task(sender())


async def _part_send(client: Client, artifact_id: str, number: int, content: bytes) -> None:
    digest = (await asyncio.to_thread(hashlib.sha256, content)).digest()
    told = f"sha-256=:{base64.b64encode(digest).decode()}:"
    request = Request(
        "PUT",
        f"/artifacts/{artifact_id}/parts/{number}",
        content=content,
        headers={CONTENT_DIGEST_HEADER: told},
        wait=60.0,
    )
    await client.call(request, ArtifactPart)


async def _piece(path: Path, number: int, size: int) -> bytes:
    return await asyncio.to_thread(_read, path, (number - 1) * size, size)


def _read(path: Path, start: int, size: int) -> bytes:
    with path.open("rb") as file:
        return os.pread(file.fileno(), size, start)


def _digested(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return os.fstat(file.fileno()).st_size, digest.hexdigest()


def _fetching(delivery: Delivery) -> Fetching:
    artifact = delivery.artifact
    if artifact.digest is None or artifact.size is None:
        raise PermanentFailure(
            "artifact_not_published", f"{artifact.name} {artifact.version} is {artifact.status}."
        )
    owner = f"{delivery.owner}:{delivery.group}"
    return Fetching(delivery.path, artifact.digest, artifact.size, delivery.mode, owner)


def _url(issued: ArtifactDeliveryIssued, base_url: str | None) -> str:
    return issued.url if base_url is None else f"{base_url.rstrip('/')}{issued.path}"


def _timeout(artifact: Artifact) -> float:
    return 120 + (artifact.size or 0) / _SLOWEST
