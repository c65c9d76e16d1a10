"""Names of machines: of nodes, and of allocations as those who hold them call them.

Called by the operate room, and by rooms whose things stand on machines.
"""

from collections.abc import Sequence

from gpuaas_platform.capacity.store import naming as store
from gpuaas_platform.kernel.caller import Caller
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.naming import names_seen


async def nodes_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """Nodes, for those who run the platform."""
    return await names_seen(conn, caller, store.NODES, ids)


async def allocations_named(conn: Connection, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
    """Allocations the caller may read."""
    return await names_seen(conn, caller, store.ALLOCATIONS, ids)
