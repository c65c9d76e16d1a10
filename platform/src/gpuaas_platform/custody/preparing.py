"""What is done before a mutation's transaction, because a secret store may be another machine.

Nothing is asked of a store for a caller whom the transaction will refuse; the refusal itself is
left to the transaction, which audits it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from gpuaas_contract.custody import CustodyStatus
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_platform.custody.secret_store import secret_store_of
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import PlatformError, Unavailable

T = TypeVar("T")


async def call_allowed(
    call: Call, permission: Permission, place_find: Callable[[Connection], Awaitable[Place]]
) -> bool:
    """Whether the subject exists and the caller holds the permission where it is."""
    try:
        async with call.db.connection() as conn:
            place = await place_find(conn)
        call.caller.require(permission, place)
    except PlatformError as error:
        if error.code is ErrorCode.UNAVAILABLE:
            raise
        return False
    return True


@dataclass(frozen=True, repr=False)
class Fetched:
    """A value as it came from the store, and where it lay."""

    path: str
    value: bytes

    def of(self, row: Record) -> bool:
        """Whether it is still what the row keeps."""
        return bool(self.path == row["secret_path"])


async def secret_fetch(
    call: Call, permission: Permission, read: Callable[[Connection], Awaitable[Record]]
) -> Fetched | None:
    """What the store keeps for a row that is active, for a caller who may have it."""

    async def place_find(conn: Connection) -> Place:
        return row_place(await read(conn))

    if not await call_allowed(call, permission, place_find):
        return None
    async with call.db.connection() as conn:
        row = await read(conn)
    if row["status"] != CustodyStatus.ACTIVE:
        return None
    path = row["secret_path"]
    return Fetched(path, await secret_store_of(call.platform).get(path))


def stashed_require(stashed: T | None) -> T:
    """What was stashed; it is missing only if the caller's rights changed in this very moment."""
    if stashed is None:
        raise Unavailable("The secret store")
    return stashed


def row_place(row: Record) -> Place:
    """Where a row of this room belongs."""
    return Place(row["org_id"], row["project_id"])
