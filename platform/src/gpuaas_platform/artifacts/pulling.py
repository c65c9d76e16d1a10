"""Pulls an image by its digest and keeps it as one archive; called by the ingest loop.

Every blob is counted and digested on its way; one that is not what the manifest says ends the pull
before anything could be published. Nothing is held in memory but a chunk.
"""

import hashlib
from collections.abc import AsyncIterator
from typing import Final

from gpuaas_contract.artifacts import PART_BYTES_MAX
from gpuaas_platform.artifacts.addresses import guard_of
from gpuaas_platform.artifacts.blob_store import Content, Part, blob_store_of
from gpuaas_platform.artifacts.oci_layout import (
    Layout,
    ManifestWrong,
    Member,
    layout_of,
    manifest_for,
    manifest_parse,
)
from gpuaas_platform.artifacts.registry import (
    Login,
    Registry,
    RegistryRefused,
    Repository,
    registry_open,
)
from gpuaas_platform.artifacts.store import ingesting as store
from gpuaas_platform.artifacts.store import sources as source_rows
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.keyring import keyring_of

_DEPTH: Final = 2  # an index, and what it names


class PullFailed(Exception):
    """The image cannot be had as it is named; trying again would not help."""


async def pull(platform: Platform, row: Record) -> Content:
    """The image as an archive in the blob store, under the artifact's id."""
    repository = await _repository(platform, row)
    try:
        async with registry_open(repository) as registry:
            layout = await _layout(registry, row)
            await _room_require(platform, row, layout.size)
            return await _kept(platform, row, registry, layout)
    except (RegistryRefused, ManifestWrong) as error:
        raise PullFailed(str(error)) from error


async def _repository(platform: Platform, row: Record) -> Repository:
    login = None
    if row["username"] is not None and row["password"] is not None:
        keyring = await keyring_of(platform)
        password = keyring.unseal(row["password"], f"artifacts:{row['source_id']}").decode()
        login = Login(row["username"], password)
    guard = None if row["org_id"] is None else guard_of(platform.settings)
    return Repository(row["address"], row["plain_http"], login, guard)


async def _layout(registry: Registry, row: Record) -> Layout:
    digest = row["reference"]
    for _ in range(_DEPTH):
        body = await registry.manifest(digest)
        manifest = manifest_parse(body, digest)
        if not manifest.is_index:
            return layout_of(body, manifest, f"{row['name']}:{row['version']}")
        digest = manifest_for(manifest, row["platform"])
    raise ManifestWrong("the index names another index")


async def _room_require(platform: Platform, row: Record, size: int) -> None:
    settings = platform.settings
    if size > settings.artifact_max_bytes:
        raise PullFailed(f"the image has {size} bytes, over {settings.artifact_max_bytes}")
    async with platform.db.transaction() as conn:
        if row["org_id"] is not None:
            used = await source_rows.tier_bytes(conn, row["org_id"]) - (row["size"] or 0)
            if used + size > settings.artifact_tenant_bytes:
                raise PullFailed(
                    f"the image has {size} bytes; with it the tenant's artifacts would have more"
                    f" than {settings.artifact_tenant_bytes}"
                )
        await store.ingest_size(conn, row["id"], row["lease"], size)


async def _kept(platform: Platform, row: Record, registry: Registry, layout: Layout) -> Content:
    """Write the archive part by part, then read it as a whole, as for an upload."""
    blobs, key = blob_store_of(platform), row["id"]
    await blobs.parts_delete(key, row["upload"])
    upload = await blobs.upload_begin(key)
    async with platform.db.connection() as conn:
        await store.ingest_upload(conn, key, row["lease"], upload)
    stream = _Stream(_archive(registry, layout))
    parts = []
    for number, start in enumerate(range(0, layout.size, PART_BYTES_MAX), 1):
        size = min(PART_BYTES_MAX, layout.size - start)
        tag = await blobs.part_write(key, upload, number, _Slice(stream, size))
        parts.append(Part(number, size, tag))
    await stream.end()
    return await blobs.upload_finish(key, upload, parts)


async def _archive(registry: Registry, layout: Layout) -> AsyncIterator[bytes]:
    for member in layout.members:
        yield member.header
        if member.content is not None:
            yield member.content
        else:
            async for chunk in _verified(registry, member):
                yield chunk
        yield member.padding
    yield layout.end


async def _verified(registry: Registry, member: Member) -> AsyncIterator[bytes]:
    digest, size = hashlib.sha256(), 0
    async for chunk in registry.blob(member.digest or ""):
        digest.update(chunk)
        size += len(chunk)
        if size > member.size:
            break
        yield chunk
    if size != member.size or f"sha256:{digest.hexdigest()}" != member.digest:
        raise ManifestWrong(f"the registry's blob {member.digest} is not what its name says")


class _Stream:
    """An endless-looking source of bytes, from which slices are taken one after the other."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    async def take(self, most: int) -> bytes:
        """The next bytes, at least one and at most so many; nothing at the end."""
        while not self._left:
            try:
                self._left = await anext(self._chunks)
            except StopAsyncIteration:
                return b""
        taken, self._left = self._left[:most], self._left[most:]
        return taken

    async def end(self) -> None:
        """Run to the end, so that the last blob is judged too."""
        if await self.take(1):
            raise ManifestWrong("the archive is longer than it should be")


class _Slice:
    """The next `size` bytes of a stream: an `Incoming`."""

    def __init__(self, stream: _Stream, size: int) -> None:
        self.size = size
        self._stream = stream

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes, as they come."""
        left = self.size
        while left:
            chunk = await self._stream.take(left)
            if not chunk:
                raise ManifestWrong("the archive is shorter than it should be")
            left -= len(chunk)
            yield chunk
