"""What people call the things whose ids they see in lists, timelines and messages.

Called by the routes. Each room names its own and decides what the caller may know; what is hidden
and what does not exist are both left out.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gpuaas_contract.ids import Prefix
from gpuaas_contract.operate import Name, Names
from gpuaas_platform.apps import naming as apps
from gpuaas_platform.capacity import naming as capacity
from gpuaas_platform.identity import naming as identity
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Caller
from gpuaas_platform.kernel.database import Connection

Read = Callable[[Connection, Caller, Sequence[str]], Awaitable[dict[str, str]]]

_SOURCES: Final[dict[Prefix, Read]] = {
    Prefix.TENANT: identity.tenants_named,
    Prefix.PROJECT: identity.projects_named,
    Prefix.USER: identity.users_named,
    Prefix.SERVICE_ACCOUNT: identity.accounts_named,
    Prefix.NODE: capacity.nodes_named,
    Prefix.ALLOCATION: capacity.allocations_named,
    Prefix.INSTANCE: apps.instances_named,
    Prefix.MEMBER: apps.members_named,
    Prefix.OPERATION: apps.operations_named,
}


async def names_read(call: Call, ids: Sequence[str]) -> Names:
    """The names of those the caller may see, in the order they were asked for."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, str] = {}
    async with call.db.connection() as conn:
        for prefix, read in _SOURCES.items():
            of_kind = [one for one in wanted if one.partition("_")[0] == prefix]
            if of_kind:
                found |= await read(conn, call.caller, of_kind)
    return Names(items=[Name(id=one, name=found[one]) for one in wanted if one in found])
