"""Rules of access grants: a certificate for one machine, for minutes, on record.

The certificate's only principal is the allocation, which exactly that machine accepts. Its key id
holds caller and correlation id, which sshd writes into the machine's journal.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from fastapi import Response

from gpuaas_contract.capacity import Allocation
from gpuaas_contract.common import Page
from gpuaas_contract.custody import (
    AccessGrant,
    AccessGrantCreate,
    AccessGrantIssued,
    AccessGrantRevoke,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import AllocationStatus
from gpuaas_platform.capacity.allocations import allocation_find
from gpuaas_platform.custody.authority import SigningKey, signing_key, signing_key_known
from gpuaas_platform.custody.certificates import (
    Certificate,
    PublicKey,
    certificate_sign,
    fingerprint,
    public_key_line,
    public_key_parse,
    revocation_list,
)
from gpuaas_platform.custody.preparing import call_allowed
from gpuaas_platform.custody.store import grants as store
from gpuaas_platform.identity.service import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, Unavailable, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

T = TypeVar("T")
KRL_TOPIC: Final = "custody.krl"
# A host whose clock runs a little behind ours must not refuse what was just signed.
_SKEW: Final = timedelta(seconds=30)
_LONG_ENDED: Final = timedelta(minutes=5)  # clocks of hosts differ: listed a while beyond its end


async def grant_create(call: Call, allocation_id: str, body: AccessGrantCreate) -> Response:
    """Sign a certificate for the machine of an allocation."""
    handler = partial(_create, allocation_id=allocation_id, body=body)
    signer = signing_key_known(call.platform)
    if signer is not None:
        with suppress(_Rotated):
            return await mutate(call, "custody.grant.create", partial(handler, signer=signer))
        signer = None
    if await call_allowed(call, Permission.GRANT_CREATE, partial(_place_of, allocation_id)):
        signer = await signing_key(call.platform)
    return await mutate(call, "custody.grant.create", partial(handler, signer=signer))


async def grant_read(call: Call, grant_id: str) -> AccessGrant:
    """One grant."""
    async with call.db.connection() as conn:
        row = await store.grant_read(conn, grant_id)
    if row is None:
        raise not_found("access grant", grant_id)
    call.caller.require(Permission.GRANT_READ, _row_place(row))
    return _grant(row)


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
    return page_of([_grant(row) for row in rows], query.limit, lambda found: found.id)


async def grant_revoke(work: Work, grant_id: str, body: AccessGrantRevoke) -> Answer[AccessGrant]:
    """Put a certificate on the revocation list."""
    row = await store.grant_lock(work.conn, grant_id)
    if row is None:
        raise not_found("access grant", grant_id)
    place = _row_place(row)
    work.require(Permission.GRANT_CREATE, place)
    if row["revoked_at"] is not None or row["valid_before"] <= work.now:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The certificate has ended already.")
    revoked = await store.grant_revoke(work.conn, grant_id, body.reason, work.now)
    grant = _grant(_present(revoked))
    work.audit(Target("access_grant", grant_id, place, _grant(row), grant, body.reason))
    work.emit(Happened("custody.grant.revoked", grant_id, place, _told(grant)))
    work.signal(KRL_TOPIC)
    return Answer(grant)


async def revocations_read(call: Call) -> tuple[bytes, int]:
    """The revocation list sshd reads, and its version; public by nature."""
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        version, rows = await store.grants_revoked(conn, now - _LONG_ENDED)
    revoked: dict[str, list[int]] = {}
    for row in rows:
        revoked.setdefault(row["public_key"], []).append(row["serial"])
    return revocation_list(revoked, version, now), version


async def _place_of(allocation_id: str, conn: Connection) -> Place:
    return _place(await allocation_find(conn, allocation_id))


class _Rotated(Unavailable):
    """The key that was to sign is no longer current."""

    def __init__(self) -> None:
        super().__init__("The SSH authority, whose key was just rotated,", retry_after=0.1)


async def _create(
    work: Work, allocation_id: str, body: AccessGrantCreate, signer: SigningKey | None
) -> Answer[AccessGrantIssued]:
    allocation = await allocation_find(work.conn, allocation_id)
    place = _place(allocation)
    work.require(Permission.GRANT_CREATE, place)
    address = _reachable(allocation)
    key = public_key_parse(body.public_key)
    grant = await _recorded(work, signer, allocation, body, key)
    detail = {"serial": grant.serial, "fingerprint": grant.fingerprint, "allocation": allocation_id}
    work.audit(Target("access_grant", grant.id, place, after=grant, detail=detail))
    work.emit(Happened("custody.grant.created", grant.id, place, _told(grant)))
    issued = AccessGrantIssued(
        grant=grant,
        certificate=_signed(grant, _present(signer), key),
        address=address,
        known_hosts=[f"{address} {line}" for line in allocation.host_keys],
    )
    return Answer(issued, 201)


async def _recorded(
    work: Work,
    signer: SigningKey | None,
    allocation: Allocation,
    body: AccessGrantCreate,
    key: PublicKey,
) -> AccessGrant:
    new = store.NewGrant(
        id=work.new_id(Prefix.GRANT),
        place=_place(allocation),
        allocation_id=allocation.id,
        principal=allocation.id,
        ca_key_id="" if signer is None else signer.id,
        fingerprint=fingerprint(public_key_line(key)),
        source_address=[str(network) for network in body.source_address],
        force_command=body.force_command,
        pty=body.pty,
        valid_after=work.now - _SKEW,
        valid_before=work.now + timedelta(seconds=body.ttl_seconds),
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
    )
    row = await store.grant_insert(work.conn, new, work.now)
    if row is None:
        raise _Rotated
    return _grant(row)


def _signed(grant: AccessGrant, signer: SigningKey, key: PublicKey) -> str:
    """The certificate that says what was recorded."""
    who = f"caller={grant.created_by} correlation={grant.correlation_id}"
    wanted = Certificate(
        public_key=key,
        serial=grant.serial,
        key_id=f"grant={grant.id} {who}",
        principal=grant.principal,
        valid_after=grant.valid_after,
        valid_before=grant.valid_before,
        source_address=grant.source_address,
        force_command=grant.force_command,
        pty=grant.pty,
    )
    return certificate_sign(signer.key, wanted)


def _reachable(allocation: Allocation) -> str:
    if allocation.status is not AllocationStatus.ACTIVE or allocation.address is None:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The allocation is {allocation.status}; only an active one can be reached.",
            context={"allocation_id": allocation.id, "status": allocation.status},
        )
    return allocation.address


def _place(allocation: Allocation) -> Place:
    return Place(allocation.org_id, allocation.project_id)


def _row_place(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])


def _grant(row: Record) -> AccessGrant:
    return AccessGrant(**{name: row[name] for name in AccessGrant.model_fields})


def _present(found: T | None) -> T:
    if found is None:
        raise RuntimeError("what was just locked or written cannot be missing")
    return found


def _told(grant: AccessGrant) -> dict[str, object]:
    """What an event says: who may reach what until when, and nothing that opens it."""
    return {
        "allocation_id": grant.allocation_id,
        "serial": grant.serial,
        "fingerprint": grant.fingerprint,
        "valid_before": grant.valid_before.isoformat(),
    }
