"""Manifests of the versions that instances run: a published manifest never changes, so it is kept.

Read models ask for it on every read; the catalog is asked once per version and process.
"""

from gpuaas_contract.manifest import Manifest
from gpuaas_platform.catalog import service as catalog
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection

_PART = "apps.manifests"
_KEPT = 500


async def manifest_of(platform: Platform, conn: Connection, slug: str, version: str) -> Manifest:
    """The manifest of a version, also of one that can no longer be deployed."""
    kept: dict[tuple[str, str], Manifest] = platform.parts.setdefault(_PART, {})
    found = kept.get((slug, version))
    if found is None:
        found = (await catalog.version_record(conn, slug, version)).manifest
        if len(kept) >= _KEPT:
            kept.clear()
        kept[(slug, version)] = found
    return found
