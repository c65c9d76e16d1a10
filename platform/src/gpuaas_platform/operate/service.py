"""Rules of the operate room: what ready means, which versions run."""

from gpuaas_contract.operate import Check, Readiness, Version
from gpuaas_platform import __version__
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.migrate import migrations
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.operate import store


async def readiness(platform: Platform) -> Readiness:
    """Check what the platform needs, each by itself."""
    checks = [await _database(platform)]
    ready = all(check.ok for check in checks)
    return Readiness(status="ready" if ready else "not_ready", checks=checks)


async def version(platform: Platform) -> Version:
    """The platform's version and the revision of its database."""
    async with platform.db.connection() as conn:
        return Version(version=__version__, schema_revision=await store.schema_revision(conn))


async def _database(platform: Platform) -> Check:
    expected = len(migrations())
    try:
        async with platform.db.connection() as conn:
            found = await store.schema_revision(conn)
    except PlatformError as error:
        return Check(name="database", ok=False, detail=error.detail)
    if found != expected:
        detail = f"schema revision {found}, expected {expected}: run `gpuaas-platform migrate`"
        return Check(name="database", ok=False, detail=detail)
    return Check(name="database", ok=True, detail=f"schema revision {found}")
