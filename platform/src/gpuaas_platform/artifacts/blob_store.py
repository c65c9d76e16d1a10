"""Where the bytes of artifacts lie, as this room sees it: one interface, two stores.

`file_store.py` keeps them in a folder, `s3_store.py` in a bucket. Content is kept under the
artifact's id, which nothing else ever has, so two writers never meet. A store knows no rules; what
may be read or written is decided before it is asked. It may be another machine: never await it
inside a transaction.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.problems import PlatformError, Unavailable

PART: Final = "artifacts.blob_store"
CHUNK: Final = 1024 * 1024


@dataclass(frozen=True)
class Part:
    """A part that is in the store: its number from 1, its size, and what the store calls it."""

    number: int
    size: int
    tag: str


@dataclass(frozen=True)
class Content:
    """What was found to be the content: counted and digested by reading all of it."""

    size: int
    digest: str


@dataclass(frozen=True)
class Held:
    """Something in the store: whose it is (the artifact's id) and since when.

    `upload` names the upload where it is parts, and is empty where it is content.
    """

    key: str
    since: datetime
    upload: str = ""

    @property
    def parts(self) -> bool:
        """Whether it is an upload's and not content."""
        return bool(self.upload)


class Incoming(Protocol):
    """A part on its way in, read once."""

    size: int

    def chunks(self) -> AsyncIterator[bytes]:
        """The bytes, as they come."""
        ...


class BlobStore(Protocol):
    """Content by key."""

    async def upload_begin(self, key: str) -> str:
        """Begin an upload; its name, needed for all that follows."""
        ...

    async def part_write(self, key: str, upload: str, number: int, data: Incoming) -> str:
        """Keep one part, durably; what the store calls it. A repeat replaces it, whole."""
        ...

    async def upload_finish(self, key: str, upload: str, parts: Sequence[Part]) -> Content:
        """Put the parts together and read the whole; harmless to repeat."""
        ...

    def read(self, key: str, start: int, length: int) -> AsyncIterator[bytes]:
        """Stream a range of the content, never more than a few chunks in memory."""
        ...

    async def file_open(self, key: str) -> int | None:
        """The content as an open file where it is one; whoever asks closes it."""
        ...

    async def parts_delete(self, key: str, upload: str) -> None:
        """Remove what an upload has left beside the content; nothing there is fine."""
        ...

    async def delete(self, key: str, upload: str) -> None:
        """Remove the content and its parts; nothing there is fine."""
        ...

    async def free_bytes(self) -> int | None:
        """How much more can be kept, where that is known."""
        ...

    def held(self) -> AsyncIterator[Held]:
        """Everything there is, uploads too: what nobody knows of is found by this."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...


class StoreUnavailable(Unavailable):
    """The store of artifacts does not answer, or has no room."""


class ContentLost(PlatformError):
    """The store answered, but what it should hold is not there, or not as it was written."""


def blob_store_of(platform: Platform) -> BlobStore:
    """The store of this process; made by this room's life."""
    store: BlobStore = platform.parts[PART]
    return store


def parts_contiguous(parts: Iterable[Part]) -> bool:
    """Whether the parts are number 1, 2, … without a gap."""
    return all(part.number == number for number, part in enumerate(parts, 1))
