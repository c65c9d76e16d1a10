"""An OCI image as one file: a tar of its layout, the same bytes for the same manifest. Pure.

What `podman load`, `skopeo copy oci-archive:…` and `ctr image import` take. Every blob is named by
its digest and comes with its size, so the length of the whole is known before the first byte.
"""

import hashlib
import tarfile
from dataclasses import dataclass
from typing import Any, Final

import msgspec

_BLOCK: Final = 512
_END: Final = bytes(2 * _BLOCK)
_LAYOUT: Final = b'{"imageLayoutVersion":"1.0.0"}'
_INDEXES: Final = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
}
_DEFAULT_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"


class ManifestWrong(Exception):
    """A manifest that cannot be an image, or is not the one its digest says."""


class Descriptor(msgspec.Struct, frozen=True):
    """A blob as a manifest names it."""

    digest: str
    size: int
    mediaType: str = ""  # noqa: N815 - the name in the document
    platform: dict[str, Any] | None = None


class Manifest(msgspec.Struct, frozen=True):
    """An image, an artifact or an index of them."""

    config: Descriptor | None = None
    layers: list[Descriptor] = []
    manifests: list[Descriptor] = []
    mediaType: str = ""  # noqa: N815 - the name in the document

    @property
    def is_index(self) -> bool:
        """Whether it names manifests instead of layers."""
        return self.mediaType in _INDEXES or bool(self.manifests)


@dataclass(frozen=True)
class Member:
    """One file of the archive: bytes that are known, or a blob that is fetched."""

    name: str
    size: int
    content: bytes | None
    digest: str | None

    @property
    def header(self) -> bytes:
        """Its tar header; owner, mode and time are always the same."""
        info = tarfile.TarInfo(self.name)
        info.size, info.mode, info.mtime = self.size, 0o644, 0
        return info.tobuf(tarfile.USTAR_FORMAT)

    @property
    def padding(self) -> bytes:
        """What fills its last block."""
        return bytes(-self.size % _BLOCK)


@dataclass(frozen=True)
class Layout:
    """The files of an archive in their order, and how long it is."""

    members: list[Member]

    @property
    def end(self) -> bytes:
        """What a tar ends with."""
        return _END

    @property
    def size(self) -> int:
        """The length of the archive."""
        return sum(_BLOCK + m.size + len(m.padding) for m in self.members) + len(_END)


def manifest_parse(body: bytes, digest: str) -> Manifest:
    """A manifest that has the digest it was asked for by."""
    if f"sha256:{hashlib.sha256(body).hexdigest()}" != digest:
        raise ManifestWrong("the manifest does not have the digest it was asked for by")
    try:
        manifest = msgspec.json.decode(body, type=Manifest)
    except msgspec.DecodeError as error:
        raise ManifestWrong("the manifest is not one of an image") from error
    for one in [*manifest.layers, *manifest.manifests, *filter(None, [manifest.config])]:
        named = one.digest.removeprefix("sha256:")
        if len(named) != 64 or not set(named) <= set("0123456789abcdef") or one.size < 0:
            raise ManifestWrong("the manifest names a blob that is not known by its SHA-256")
    return manifest


def manifest_for(index: Manifest, platform: str) -> str:
    """The digest of the manifest an index has for a platform such as `debian-12/amd64`."""
    architecture = platform.rpartition("/")[2]
    fitting = [
        one.digest
        for one in index.manifests
        if one.platform is not None
        and one.platform.get("os") == "linux"
        and one.platform.get("architecture") == architecture
    ]
    if len(fitting) != 1:
        raise ManifestWrong(
            f"the digest names an index with {len(fitting)} images for {platform}; name the"
            " manifest of one"
        )
    return fitting[0]


def layout_of(body: bytes, manifest: Manifest, name: str) -> Layout:
    """The archive of an image."""
    if manifest.config is None:
        raise ManifestWrong("the manifest has no configuration")
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    kind = manifest.mediaType or _DEFAULT_TYPE
    root = {
        "mediaType": kind, "digest": digest, "size": len(body),
        "annotations": {"org.opencontainers.image.ref.name": name},
    }  # fmt: skip
    index = msgspec.json.encode({"schemaVersion": 2, "manifests": [root]})
    blobs = {one.digest: one.size for one in [manifest.config, *manifest.layers]}
    members = [_known("oci-layout", _LAYOUT), _known("index.json", index)]
    members.append(_known(f"blobs/sha256/{digest[7:]}", body))
    members += [
        Member(f"blobs/sha256/{one[7:]}", size, None, one)
        for one, size in sorted(blobs.items())
        if one != digest
    ]
    return Layout(members)


def _known(name: str, content: bytes) -> Member:
    return Member(name, len(content), content, None)
