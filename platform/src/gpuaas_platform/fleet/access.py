"""Whom a machine's sshd lets in: the authority's keys, the principals of whoever holds it, the KRL.

Computed from the state whenever an agent asks; never from what was told before. The allocation's
own principal logs in as root; a task may add others for other users, which end with the allocation.
"""

import base64
import hashlib
import json
from dataclasses import dataclass

from gpuaas_contract.fleet_agent import AccessDirection, Signed
from gpuaas_platform.capacity.nodes import node_holder
from gpuaas_platform.custody.authority import authority_keys
from gpuaas_platform.custody.grants import revocations, revocations_version
from gpuaas_platform.fleet.signing import direction_sign
from gpuaas_platform.fleet.store import tasks as store
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection

ROOT = "root"


@dataclass(frozen=True)
class Access:
    """What should hold on one machine."""

    ca_keys: list[str]
    principals: dict[str, list[str]]
    krl_version: int

    @property
    def revision(self) -> str:
        """What it says, in short."""
        text = json.dumps([self.ca_keys, self.principals, self.krl_version], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


async def access_wanted(conn: Connection, node_id: str) -> Access:
    """What should hold now."""
    keys = await authority_keys(conn)
    version = await revocations_version(conn)
    return Access(keys, await _principals(conn, node_id), version)


async def access_direction(platform: Platform, node_id: str, access: Access) -> Signed:
    """The same for the machine, with the revocation list itself."""
    krl, _ = await revocations(platform)
    direction = AccessDirection(
        node_id=node_id,
        revision=access.revision,
        issued_at=platform.clock.now(),
        ca_keys=access.ca_keys,
        principals=access.principals,
        krl=base64.b64encode(krl).decode(),
    )
    return await direction_sign(platform, direction)


async def _principals(conn: Connection, node_id: str) -> dict[str, list[str]]:
    holder = await node_holder(conn, node_id)
    if holder is None:
        return {}
    wanted = {ROOT: {holder.allocation_id}}
    for row in await store.principals_read(conn, holder.allocation_id):
        wanted.setdefault(row["username"], set()).update(row["principals"])
    return {user: sorted(names) for user, names in sorted(wanted.items()) if names}
