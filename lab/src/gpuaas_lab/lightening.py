"""The same package, packed so that unpacking it is cheap.

Called when a set is fetched. Distributions pack what is sent around the world: small, and slow to
unpack. A set stays on this host, where every machine of every lab unpacks it on the same
processors. What the package holds stays as it is, to the byte; what is packed in another way than
xz is left alone.
"""

from __future__ import annotations

import gzip
import io
import lzma
import shutil
from collections.abc import Iterator
from pathlib import Path

_MAGIC = b"!<arch>\n"
_HEADER = 60
_SLOW = ".tar.xz"


def package_lighten(package: Path) -> None:
    """Pack a .deb file anew, in its place."""
    members = []
    for name, content in _members(package.read_bytes()):
        slow = name.endswith(_SLOW)
        members.append(
            (f"{name.removesuffix('.xz')}.gz", _gzipped(content)) if slow else (name, content)
        )
    draft = package.with_name(f".{package.name}")
    draft.write_bytes(_MAGIC + b"".join(_packed(name, content) for name, content in members))
    draft.replace(package)


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    if not archive.startswith(_MAGIC):
        raise ValueError("this is no package")
    place = len(_MAGIC)
    while place < len(archive):
        header = archive[place : place + _HEADER]
        size = int(header[48:58])
        begin = place + _HEADER
        yield header[:16].decode().rstrip().removesuffix("/"), archive[begin : begin + size]
        place = begin + size + size % 2


def _packed(name: str, content: bytes) -> bytes:
    # Name, time, owner, group, mode, size, each as wide as the format says.
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)


def _gzipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with (
        lzma.open(io.BytesIO(content)) as source,
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as target,
    ):
        shutil.copyfileobj(source, target, 1 << 20)
    return packed.getvalue()
