"""The platform is never left without an administrator.

Wrapped around every change that could end one: a binding, a person, the tenant that manages them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.identity.store import access as store
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import PlatformError


@asynccontextmanager
async def admin_remains(conn: Connection, *, concerned: bool) -> AsyncIterator[None]:
    """Make the change in the block, and refuse it if it ended the last administrator.

    Two such changes at once stand in line, so that each sees what the other has done.
    """
    if not concerned:
        yield
        return
    await store.admins_lock(conn)
    before = await store.admins_count(conn)
    yield
    if before and not await store.admins_count(conn):
        raise PlatformError(
            ErrorCode.CONFLICT,
            "This would leave the platform without an administrator; make another one first.",
        )
