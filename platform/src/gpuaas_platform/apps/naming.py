"""Names of instances, their members and operations. Called by the operate room."""

from collections.abc import Sequence

from gpuaas_platform.apps.store import naming as store
from gpuaas_platform.capacity import naming as machines
from gpuaas_platform.kernel.caller import Caller
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.naming import names_seen


async def instances_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """Instances the caller may read."""
    return await names_seen(conn, caller, store.INSTANCES, ids)


async def operations_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """Operations the caller may read, by what they do."""
    return await names_seen(conn, caller, store.OPERATIONS, ids)


async def members_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """Members the caller may read, by what they are and the machine they are on."""
    seen = await names_seen(conn, caller, store.MEMBERS, ids)
    if not seen:
        return {}
    on = await store.members_allocations(conn, list(seen))
    named = await machines.allocations_named(conn, caller, list(on.values()))
    return {
        one: f"{component} on {named[on[one]]}" if on[one] in named else component
        for one, component in seen.items()
    }
