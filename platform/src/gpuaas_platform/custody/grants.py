"""Rules of access grants that were given out: who sees them, and how they end early.

`granting.py` gives them out. What is revoked is on the list every host reads.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gpuaas_contract.common import Page
from gpuaas_contract.custody import AccessGrant, AccessGrantRevoke, GrantLogin
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_platform.capacity.nodes import allocation_signal
from gpuaas_platform.capacity.trust import trust_touch
from gpuaas_platform.custody.certificates import revocation_list
from gpuaas_platform.custody.preparing import row_place
from gpuaas_platform.custody.store import grants as store
from gpuaas_platform.identity.service import project_place
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_LONG_ENDED: Final = timedelta(minutes=5)  # clocks of hosts differ: listed a while beyond its end


async def grant_read(call: Call, grant_id: str) -> AccessGrant:
    """One grant."""
    async with call.db.connection() as conn:
        row = await store.grant_read(conn, grant_id)
    if row is None:
        raise not_found("access grant", grant_id)
    call.caller.require(Permission.GRANT_READ, row_place(row))
    return grant_of(row)


@dataclass(frozen=True)
class GrantQuery:
    """What a list of grants was asked for."""

    project_id: str | None
    allocation_id: str | None
    cursor: str | None
    limit: int


async def grant_list(call: Call, query: GrantQuery) -> Page[AccessGrant]:
    """Grants in reach, newest first."""
    reach = call.caller.reach(Permission.GRANT_READ)
    async with call.db.connection() as conn:
        if query.project_id is not None:
            place = await project_place(conn, query.project_id)
            call.caller.require(Permission.GRANT_READ, place)
        wanted = store.GrantFilter(reach, query.project_id, query.allocation_id)
        after = cursor_decode(query.cursor)
        rows = await store.grant_list(conn, wanted, after, query.limit + 1)
    return page_of([grant_of(row) for row in rows], query.limit, lambda found: found.id)


async def grant_revoke(work: Work, grant_id: str, body: AccessGrantRevoke) -> Answer[AccessGrant]:
    """Put a certificate on the revocation list."""
    row = await store.grant_lock(work.conn, grant_id)
    if row is None:
        raise not_found("access grant", grant_id)
    place = row_place(row)
    own = row["login"] == GrantLogin.PERSON and row["created_by"] == work.call.caller.id
    work.require(Permission.GRANT_LOGIN if own else Permission.GRANT_CREATE, place)
    if row["revoked_at"] is not None or row["valid_before"] <= work.now:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The certificate has ended already.")
    grant = grant_of(await store.grant_revoke(work.conn, grant_id, body.reason, work.now))
    work.audit(Target("access_grant", grant_id, place, grant_of(row), grant, body.reason))
    work.emit(Happened("custody.grant.revoked", grant_id, place, grant_told(grant)))
    await allocation_signal(work, grant.allocation_id)
    await trust_touch(work, grant.allocation_id)
    return Answer(grant)


async def revocations_version(conn: Connection, allocation_id: str | None = None) -> int:
    """How often anything was revoked, there or at all: the list's version, without the list."""
    return await store.revocations_count(conn, allocation_id)


async def revocations(platform: Platform, allocation_id: str | None = None) -> tuple[bytes, int]:
    """The revocation list sshd reads, and its version; public by nature.

    With an allocation, what concerns its machine: no other certificate opens that anyway.
    """
    now = platform.clock.now()
    async with platform.db.connection() as conn:
        version, rows = await store.grants_revoked(conn, now - _LONG_ENDED, allocation_id)
    revoked: dict[str, list[int]] = {}
    for row in rows:
        revoked.setdefault(row["public_key"], []).append(row["serial"])
    return revocation_list(revoked, version, now), version


def grant_of(row: Record) -> AccessGrant:
    """A grant as it is shown."""
    return AccessGrant(**{name: row[name] for name in AccessGrant.model_fields})


def grant_told(grant: AccessGrant) -> dict[str, object]:
    """What an event says: who may reach what until when, and nothing that opens it."""
    return {
        "allocation_id": grant.allocation_id,
        "serial": grant.serial,
        "fingerprint": grant.fingerprint,
        "login": grant.login,
        "valid_before": grant.valid_before.isoformat(),
    }
