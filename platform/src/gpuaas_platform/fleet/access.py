"""Whom a machine's sshd lets in: the authority's keys, the principals of whoever holds it, the KRL.

Computed from the state whenever an agent asks or a provider tells a machine it made; never from
what was told before. The allocation's own principal logs in as root; a task may add others for
other users, which end with the allocation.
"""

import base64
import hashlib
import json
from dataclasses import dataclass, replace

from gpuaas_contract.fleet_agent import AccessDirection, Signed
from gpuaas_platform.capacity.nodes import allocation_reached, node_holder
from gpuaas_platform.capacity.trust import Trust
from gpuaas_platform.custody.authority import authority_keys, authority_require
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
    allocation_id: str = ""

    @property
    def revision(self) -> str:
        """What it says, in short."""
        text = json.dumps([self.ca_keys, self.principals, self.krl_version], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


async def access_wanted(conn: Connection, node_id: str) -> Access:
    """What should hold now.

    A machine opens to certificates of the allocation that holds it and to no other, so what was
    revoked of those is all that concerns it: a revocation is told to one machine, however many
    there are, and its list is as long as what was revoked there.
    """
    keys = await authority_keys(conn)
    holder = await node_holder(conn, node_id)
    if holder is None:
        return Access(keys, {}, 0)
    version = await revocations_version(conn, holder.allocation_id)
    principals = await _principals(conn, holder.allocation_id)
    return Access(keys, principals, version, holder.allocation_id)


async def access_direction(platform: Platform, node_id: str, access: Access) -> Signed:
    """The same for the machine, with the revocation list itself."""
    krl, _ = await revocations(platform, access.allocation_id)
    direction = AccessDirection(
        node_id=node_id,
        revision=access.revision,
        issued_at=platform.clock.now(),
        ca_keys=access.ca_keys,
        principals=access.principals,
        krl=base64.b64encode(krl).decode(),
    )
    return await direction_sign(platform, direction)


async def made_wanted(conn: Connection, allocation_id: str) -> Access:
    """What should hold now on the machine made for an allocation."""
    keys = await authority_keys(conn)
    version = await revocations_version(conn, allocation_id)
    reached = await allocation_reached(conn, allocation_id)
    principals = await _principals(conn, allocation_id) if reached else {}
    return Access(keys, principals, version, allocation_id)


async def made_trust(platform: Platform, allocation_id: str) -> Trust:
    """The same for its provider, with the revocation list itself."""
    await authority_require(platform)  # the authority exists before any host is told to trust it
    krl, version = await revocations(platform, allocation_id)
    async with platform.db.connection() as conn:
        access = await made_wanted(conn, allocation_id)
    # What was revoked since the list was made is told by its own signal.
    access = replace(access, krl_version=version)
    return Trust(access.revision, access.ca_keys, access.principals, krl)


async def _principals(conn: Connection, allocation_id: str) -> dict[str, list[str]]:
    wanted = {ROOT: {allocation_id}}
    for row in await store.principals_read(conn, allocation_id):
        wanted.setdefault(row["username"], set()).update(row["principals"])
    return {user: sorted(names) for user, names in sorted(wanted.items()) if names}
