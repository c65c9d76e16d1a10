"""Artifacts in a bucket of S3 or of a server that speaks the same.

    PREFIX/<key>     the content; parts are those of a multipart upload, which S3 keeps apart

Six requests and their signatures are written here, for no client of S3 is as small; the time of a
signature is the real one, for the server checks it. A part is whole in the bucket or not at all.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import httpx2

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.artifacts.blob_store import (
    CHUNK,
    Content,
    ContentLost,
    Held,
    Incoming,
    Part,
    StoreUnavailable,
)
from gpuaas_platform.artifacts.sigv4 import (
    UNSIGNED,
    Keys,
    Signed,
    headers_signed,
    path_quoted,
    query_quoted,
)

_SECONDS: Final = httpx2.Timeout(30.0, connect=5.0)
_FINISH_SECONDS: Final = 600.0  # a server may take its time to join thousands of parts
_XML_MAX: Final = 8 * 1024 * 1024
_GONE: Final = 404


@dataclass(frozen=True)
class Bucket:
    """Where the bucket is, and what in it is ours."""

    endpoint: str
    name: str
    prefix: str
    keys: Keys


@dataclass(frozen=True)
class _Ask:
    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    body: bytes | AsyncIterator[bytes] = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None


class S3Store:
    """A `BlobStore` in a bucket, addressed by path."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._host = urlsplit(bucket.endpoint).netloc
        self._http = httpx2.AsyncClient(
            timeout=_SECONDS, limits=httpx2.Limits(max_connections=64), trust_env=False
        )

    async def upload_begin(self, key: str) -> str:
        """A multipart upload, whose name S3 chooses."""
        told = await self._xml(_Ask("POST", self._path(key), {"uploads": ""}))
        return _text(told, "UploadId")

    async def part_write(self, key: str, upload: str, number: int, data: Incoming) -> str:
        """One part; what S3 calls it is its ETag."""
        ask = _Ask(
            "PUT",
            self._path(key),
            {"partNumber": str(number), "uploadId": upload},
            data.chunks(),
            {"content-length": str(data.size)},
        )
        async with self._asked(ask) as response:
            await response.aread()
            return response.headers["etag"]

    async def upload_finish(self, key: str, upload: str, parts: Sequence[Part]) -> Content:
        """Join the parts unless that was done, then read all of it: S3's own sums are not ours."""
        rows = "".join(
            f"<Part><PartNumber>{part.number}</PartNumber><ETag>{escape(part.tag)}</ETag></Part>"
            for part in parts
        )
        body = f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>".encode()
        ask = _Ask("POST", self._path(key), {"uploadId": upload}, body, seconds=_FINISH_SECONDS)
        async with self._asked(ask, accept=(_GONE,)) as response:
            told = _parsed(await response.aread())
            joined_before = response.status_code == _GONE
        if not joined_before and _local(told.tag) == "Error":  # S3 may say so after it said 200
            raise StoreUnavailable("The bucket of the artifacts", retry_after=5)
        return await self._digested(key)

    async def read(self, key: str, start: int, length: int) -> AsyncIterator[bytes]:
        """A range, passed on as it comes."""
        ranged = {"range": f"bytes={start}-{start + length - 1}"}
        async with self._asked(_Ask("GET", self._path(key), headers=ranged)) as response:
            async for chunk in response.aiter_raw(CHUNK):
                yield chunk

    async def file_open(self, key: str) -> int | None:
        """There is no file here."""
        del key
        return None

    async def parts_delete(self, key: str, upload: str) -> None:
        """End an upload that nobody finishes."""
        if upload:
            ask = _Ask("DELETE", self._path(key), {"uploadId": upload})
            async with self._asked(ask, accept=(_GONE,)):
                pass

    async def delete(self, key: str, upload: str) -> None:
        """Parts first: without them nothing can be put together again."""
        await self.parts_delete(key, upload)
        async with self._asked(_Ask("DELETE", self._path(key)), accept=(_GONE,)):
            pass

    async def free_bytes(self) -> int | None:
        """A bucket does not tell."""
        return None

    async def held(self) -> AsyncIterator[Held]:
        """Contents, then uploads that go on or were left."""
        async for one in self._listed({"list-type": "2"}, "Contents", "LastModified"):
            yield one
        async for one in self._listed({"uploads": ""}, "Upload", "Initiated"):
            yield one

    async def close(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def _listed(self, query: dict[str, str], item: str, since: str) -> AsyncIterator[Held]:
        more: dict[str, str] = {}
        prefix = f"{self._bucket.prefix}/"
        while True:
            ask = _Ask("GET", f"/{self._bucket.name}", query | {"prefix": prefix} | more)
            page = await self._xml(ask)
            for found in (one for one in page if _local(one.tag) == item):
                key = _text(found, "Key").removeprefix(prefix)
                moment = datetime.fromisoformat(_text(found, since))
                yield Held(key, moment, _text(found, "UploadId"))
            if _text(page, "IsTruncated") != "true":
                return
            more = {
                name: value for name, said in _NEXT[item].items() if (value := _text(page, said))
            }

    async def _digested(self, key: str) -> Content:
        digest, size = hashlib.sha256(), 0
        async with self._asked(_Ask("GET", self._path(key))) as response:
            async for chunk in response.aiter_raw(CHUNK):
                digest.update(chunk)
                size += len(chunk)
        return Content(size, f"sha256:{digest.hexdigest()}")

    def _path(self, key: str) -> str:
        return f"/{self._bucket.name}/{self._bucket.prefix}/{key}"

    async def _xml(self, ask: _Ask) -> ElementTree.Element:
        async with self._asked(ask) as response:
            return _parsed(await response.aread())

    @asynccontextmanager
    async def _asked(
        self, ask: _Ask, accept: tuple[int, ...] = ()
    ) -> AsyncIterator[httpx2.Response]:
        payload = hashlib.sha256(ask.body).hexdigest() if isinstance(ask.body, bytes) else UNSIGNED
        signed = Signed(ask.method, self._host, ask.path, ask.query, payload)
        headers = headers_signed(self._bucket.keys, signed, datetime.now(UTC)) | ask.headers
        query = query_quoted(ask.query)
        url = f"{self._bucket.endpoint}{path_quoted(ask.path)}{'?' if query else ''}{query}"
        timeout = _SECONDS if ask.seconds is None else ask.seconds
        request = self._http.build_request(
            ask.method, url, content=ask.body, headers=headers, timeout=timeout
        )
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.TransportError as error:
            raise StoreUnavailable("The bucket of the artifacts", retry_after=5) from error
        try:
            if response.is_error and response.status_code not in accept:
                raise await _refused(response)
            yield response
        except httpx2.TransportError as error:
            raise StoreUnavailable("The bucket of the artifacts", retry_after=5) from error
        finally:
            await response.aclose()


# How the next page of each list is asked for: parameter → element that holds its value.
_NEXT: Final = {
    "Contents": {"continuation-token": "NextContinuationToken"},
    "Upload": {"key-marker": "NextKeyMarker", "upload-id-marker": "NextUploadIdMarker"},
}


async def _refused(response: httpx2.Response) -> StoreUnavailable | ContentLost:
    code = _text(_parsed(await response.aread()), "Code") or str(response.status_code)
    if response.status_code == _GONE:
        return ContentLost(ErrorCode.INTERNAL, f"The bucket of the artifacts says {code}.")
    return StoreUnavailable(f"The bucket of the artifacts says {code}, so the store")


def _parsed(body: bytes) -> ElementTree.Element:
    """An answer as XML; what is no XML, or could be a bomb, is an empty element.

    The bucket is the operator's own, but a document type is refused all the same.
    """
    if len(body) > _XML_MAX or b"<!DOCTYPE" in body or not body.strip():
        return ElementTree.Element("Empty")
    try:
        return ElementTree.fromstring(body)  # noqa: S314 - no document type, so no entities
    except ElementTree.ParseError:
        return ElementTree.Element("Empty")


def _text(parent: ElementTree.Element, name: str) -> str:
    found = next((one for one in parent if _local(one.tag) == name), None)
    return "" if found is None else (found.text or "")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
