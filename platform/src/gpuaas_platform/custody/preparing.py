"""What is done before a mutation's transaction, because a secret store may be another machine.

Nothing is asked of a store for a caller whom the transaction will refuse; the refusal itself is
left to the transaction, which audits it.
"""

from collections.abc import Awaitable, Callable

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import PlatformError


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
