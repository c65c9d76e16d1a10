"""Artifacts in a folder: the default. Replicas on several machines need a folder they share.

    FOLDER/content/<2 last letters>/<key>      whole and verified, never written to again
    FOLDER/uploads/<key>/<number>              parts; each is there whole or not at all

Everything is written aside, flushed to the disk and then renamed, so a crash leaves either nothing
or something complete, and what is left over is found by its key. Files are touched in threads.
"""

import asyncio
import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

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

_WHOLE: Final = "file"
_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT}


class FileStore:
    """A `BlobStore` in a folder."""

    def __init__(self, folder: Path) -> None:
        self._content = folder / "content"
        self._uploads = folder / "uploads"
        for made in (self._content, self._uploads):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def upload_begin(self, key: str) -> str:
        """Nothing is needed before the first part."""
        return _WHOLE if key else ""

    async def part_write(self, key: str, upload: str, number: int, data: Incoming) -> str:
        """Write aside, flush, rename."""
        del upload  # a folder needs no name for it
        folder = self._uploads / key
        aside = folder / f".{number}.{secrets.token_hex(6)}"
        try:
            await asyncio.to_thread(folder.mkdir, mode=0o700, exist_ok=True)
            await _written(aside, data)
            await asyncio.to_thread(_settle, aside, folder / str(number))
        except OSError as error:
            raise _failure(error) from error
        finally:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(aside.unlink, missing_ok=True)
        return _WHOLE

    async def upload_finish(self, key: str, upload: str, parts: Sequence[Part]) -> Content:
        """One pass over the parts: digest and copy. What is whole already is only read."""
        del upload
        try:
            return await asyncio.to_thread(self._finish, key, parts)
        except OSError as error:
            raise _failure(error) from error

    async def read(self, key: str, start: int, length: int) -> AsyncIterator[bytes]:
        """The next chunk is read from the disk while the one before is on its way out."""
        file = await asyncio.to_thread(self._open, key)
        end = start + length
        ahead = _ahead(file, start, end)
        try:
            while start < end:
                chunk = await ahead
                if not chunk:
                    raise _lost(f"the content of {key} ends before byte {end}")
                start += len(chunk)
                ahead = _ahead(file, start, end)
                yield chunk
        finally:
            # Not before the last read has ended: by then the number could be another file's.
            ahead.add_done_callback(lambda _: os.close(file))

    async def file_open(self, key: str) -> int | None:
        """The file itself."""
        return await asyncio.to_thread(self._open, key)

    async def parts_delete(self, key: str, upload: str) -> None:
        """The whole folder of the upload."""
        del upload
        await asyncio.to_thread(shutil.rmtree, self._uploads / key, ignore_errors=True)

    async def delete(self, key: str, upload: str) -> None:
        """Parts first: without them nothing can be put together again."""
        await self.parts_delete(key, upload)
        await asyncio.to_thread(self._path(key).unlink, missing_ok=True)

    async def free_bytes(self) -> int | None:
        """What the disk has left."""
        return (await asyncio.to_thread(shutil.disk_usage, self._content)).free

    async def held(self) -> AsyncIterator[Held]:
        """Contents and uploads, by the key in their names."""
        for one in await asyncio.to_thread(self._found):
            yield one

    async def close(self) -> None:
        """A folder has nothing to give back."""

    def _path(self, key: str) -> Path:
        return self._content / key[-2:] / key

    def _open(self, key: str) -> int:
        try:
            return os.open(self._path(key), os.O_RDONLY)
        except FileNotFoundError as error:
            raise _lost(f"the content of {key} is not in its place") from error

    def _finish(self, key: str, parts: Sequence[Part]) -> Content:
        path = self._path(key)
        with contextlib.suppress(FileNotFoundError):
            return _digested(path)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        aside = self._uploads / key / ".whole"
        try:
            content = _joined([self._uploads / key / str(part.number) for part in parts], aside)
            _settle(aside, path)
        except FileNotFoundError as error:
            raise _lost(f"a part of {key} is not in its place") from error
        finally:
            aside.unlink(missing_ok=True)
        return content

    def _found(self) -> list[Held]:
        found = []
        for path in [*self._content.glob("??/*"), *self._uploads.iterdir()]:
            with contextlib.suppress(FileNotFoundError):
                since = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                upload = _WHOLE if path.parent == self._uploads else ""
                found.append(Held(path.name, since, upload))
        return found


async def _written(path: Path, data: Incoming) -> None:
    """All chunks into a new file, gathered so that a thread is asked for few large writes."""
    file = await asyncio.to_thread(os.open, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        gathered = bytearray()
        async for chunk in data.chunks():
            gathered += chunk
            if len(gathered) >= CHUNK:
                full, gathered = gathered, bytearray()
                await asyncio.to_thread(_write, file, full)
        await asyncio.to_thread(_write, file, gathered)
    finally:
        os.close(file)


def _write(file: int, data: bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _joined(parts: Sequence[Path], into: Path) -> Content:
    digest, size = hashlib.sha256(), 0
    with into.open("wb", buffering=0) as target:
        for part in parts:
            with part.open("rb", buffering=0) as source:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
                    size += len(chunk)
    return Content(size, f"sha256:{digest.hexdigest()}")


def _digested(path: Path) -> Content:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Content(os.fstat(file.fileno()).st_size, f"sha256:{digest.hexdigest()}")


def _settle(aside: Path, path: Path) -> None:
    """Flush a file and put it in its place; after this it survives a loss of power."""
    _flush(aside)
    aside.replace(path)
    _flush(path.parent)


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _ahead(file: int, start: int, end: int) -> "asyncio.Future[bytes]":
    loop = asyncio.get_running_loop()
    return loop.run_in_executor(None, os.pread, file, min(CHUNK, end - start), start)


def _failure(error: OSError) -> StoreUnavailable:
    if error.errno in _NO_ROOM:
        return StoreUnavailable("The disk of the artifacts is full, so the store", retry_after=60)
    return StoreUnavailable("The folder of the artifacts", retry_after=5)


def _lost(what: str) -> ContentLost:
    return ContentLost(ErrorCode.INTERNAL, f"The store of artifacts is damaged: {what}.")
