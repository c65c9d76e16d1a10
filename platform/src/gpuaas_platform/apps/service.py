"""What rooms above may ask of this one: an instance and its members, as plain rows.

Called by the queue, sharing and billing rooms inside their own transactions. Changes are asked for
through `operations.py`; nobody else writes states.
"""

from collections.abc import Collection

from gpuaas_contract.states import InstanceStatus
from gpuaas_platform.apps.rows import InstanceRow, MemberRow
from gpuaas_platform.apps.store import instances
from gpuaas_platform.apps.store.instances import MemberFilter
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import not_found


async def instance_record(conn: Connection, instance_id: str) -> InstanceRow:
    """One instance, or `not_found`. Whoever calls authorises on its place."""
    row = await instances.instance_read(conn, instance_id)
    if row is None:
        raise not_found("app instance", instance_id)
    return row


async def members_of(conn: Connection, instance_id: str) -> list[MemberRow]:
    """Members that are not removed, oldest first."""
    return await instances.members_live(conn, [instance_id])


async def members_ever(conn: Connection, instance_id: str, limit: int) -> list[MemberRow]:
    """Members with the tombstones of removed ones, newest first."""
    wanted = MemberFilter(instance_id, removed=True)
    return await instances.member_list(conn, wanted, None, limit)


async def instances_in(conn: Connection, statuses: Collection[InstanceStatus]) -> list[InstanceRow]:
    """Every instance in one of these states. For a sweep; whoever calls shows none of it."""
    return await instances.instances_in(conn, statuses)
