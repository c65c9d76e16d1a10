"""How a room names its own: rows with `id`, `name` and a place, told to who may read them."""

from collections.abc import Iterable

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Caller, Place
from gpuaas_platform.kernel.database import Record


def names_seen(rows: Iterable[Record], caller: Caller, permission: Permission) -> dict[str, str]:
    """Names by id, of those that stand where the caller holds the permission."""
    return {
        row["id"]: row["name"]
        for row in rows
        if caller.allows(permission, Place(row["org_id"], row["project_id"]))
    }
