"""What people call nodes and allocations, and where those are; nodes are the platform's."""

from typing import Final

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.naming import NamedRows

NODES: Final = NamedRows(
    "nodes", Permission.NODE_READ, org_id="NULL::text", project_id="NULL::text"
)
ALLOCATIONS: Final = NamedRows("allocations", Permission.ALLOCATION_READ)
