"""Giving out access grants: a certificate for one machine, for minutes, on record.

A certificate's only principal is the allocation, which exactly that machine accepts, for root; for
a person it is the allocation and their id, which it accepts for their own account alone. Its key id
holds caller and correlation id, which sshd writes into the machine's journal. Many machines are one
request and one transaction; each still gets a grant, an audit row and an event of its own.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar

from fastapi import Response
from pydantic import BaseModel

from gpuaas_contract.capacity import Allocation
from gpuaas_contract.custody import (
    AccessGrant,
    AccessGrantCreate,
    AccessGrantIssued,
    AccessGrantRefused,
    AccessGrantsCreate,
    AccessGrantsIssued,
    GrantLogin,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import AllocationStatus
from gpuaas_platform.capacity.allocations import allocation_find, allocation_find_many
from gpuaas_platform.custody.authority import SigningKey, signing_key, signing_key_known
from gpuaas_platform.custody.certificates import (
    Certificate,
    PublicKey,
    certificate_sign,
    fingerprint,
    public_key_line,
    public_key_parse,
)
from gpuaas_platform.custody.grants import grant_of, grant_told
from gpuaas_platform.custody.preparing import call_allowed
from gpuaas_platform.custody.store import grants as store
from gpuaas_platform.identity.service import posix_name
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import PlatformError, Unavailable, invalid
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

T = TypeVar("T", bound=BaseModel)
_ACTION: Final = "custody.grant.create"
# A machine whose cleaning could not be verified is still its holder's to clean.
_REACHABLE: Final = frozenset({AllocationStatus.ACTIVE, AllocationStatus.CLEANUP_BLOCKED})
_NEEDED: Final = {
    GrantLogin.OPERATOR: Permission.GRANT_CREATE,
    GrantLogin.PERSON: Permission.GRANT_LOGIN,
}
_ROOT: Final = "root"
# A host whose clock runs a little behind ours must not refuse what was just signed.
_SKEW: Final = timedelta(seconds=30)


async def grant_create(call: Call, allocation_id: str, body: AccessGrantCreate) -> Response:
    """Sign a certificate for the machine of an allocation."""
    handler = partial(_create, allocation_id=allocation_id, body=body)
    return await _signing(call, body, handler, partial(_place_of, allocation_id))


async def grants_create(call: Call, body: AccessGrantsCreate) -> Response:
    """Sign a certificate for the machine of each of several allocations."""
    handler = partial(_create_many, body=body)
    return await _signing(call, body, handler, partial(_place_of, body.allocation_ids[0]))


Handler = Callable[..., Awaitable[Answer[T]]]


async def _signing(
    call: Call,
    body: AccessGrantCreate,
    handler: Handler[T],
    place_find: Callable[[Connection], Awaitable[Place]],
) -> Response:
    """Do it with the authority's key, which is fetched only for somebody who may use it."""
    signer = signing_key_known(call.platform)
    if signer is not None:
        with suppress(_Rotated):
            return await mutate(call, _ACTION, partial(handler, signer=signer))
        signer = None
    if await call_allowed(call, _NEEDED[body.login], place_find):
        signer = await signing_key(call.platform)
    return await mutate(call, _ACTION, partial(handler, signer=signer))


class _Rotated(Unavailable):
    """The key that was to sign is no longer current."""

    def __init__(self) -> None:
        super().__init__("The SSH authority, whose key was just rotated,", retry_after=0.1)


async def _create(
    work: Work, allocation_id: str, body: AccessGrantCreate, signer: SigningKey | None
) -> Answer[AccessGrantIssued]:
    allocation = await allocation_find(work.conn, allocation_id)
    work.require(_NEEDED[body.login], _place(allocation))
    problem = _unreachable(allocation)
    if problem:
        context = {"allocation_id": allocation.id, "status": allocation.status}
        raise PlatformError(ErrorCode.STATE_CONFLICT, problem, context=context)
    issuing = await _issuing(work, body, signer)
    [issued] = await issuing.issued([allocation])
    return Answer(issued, 201)


async def _create_many(
    work: Work, body: AccessGrantsCreate, signer: SigningKey | None
) -> Answer[AccessGrantsIssued]:
    allocations = await allocation_find_many(work.conn, body.allocation_ids)
    for allocation in allocations:
        work.require(_NEEDED[body.login], _place(allocation))
    issuing = await _issuing(work, body, signer)
    refused = [
        AccessGrantRefused(allocation_id=one.id, code=ErrorCode.STATE_CONFLICT, detail=problem)
        for one in allocations
        if (problem := _unreachable(one))
    ]
    if len(refused) == len(allocations):
        raise PlatformError(ErrorCode.STATE_CONFLICT, refused[0].detail)
    issued = await issuing.issued([one for one in allocations if not _unreachable(one)])
    return Answer(AccessGrantsIssued(issued=issued, refused=refused), 201)


async def _issuing(work: Work, body: AccessGrantCreate, signer: SigningKey | None) -> "_Issuing":
    """What all certificates of a request share; a person is nobody but the caller."""
    key = public_key_parse(body.public_key)
    if body.login is GrantLogin.OPERATOR:
        return _Issuing(work, body, key, signer)
    username = await posix_name(work.conn, work.call.caller.id)
    if username is None:
        raise invalid("/login", "is for people: a service account logs in as operator")
    return _Issuing(work, body, key, signer, username)


@dataclass(frozen=True)
class _Issuing:
    """One request's certificates: all for the same key and under the same limits."""

    work: Work
    body: AccessGrantCreate
    key: PublicKey
    signer: SigningKey | None
    username: str = _ROOT

    async def issued(self, allocations: Sequence[Allocation]) -> list[AccessGrantIssued]:
        """Record a grant each, then sign what was recorded."""
        work, signer = self.work, self.signer
        news = [self._new(allocation) for allocation in allocations]
        key_id = "" if signer is None else signer.id
        rows = await store.grants_insert(work.conn, news, key_id, work.now)
        if signer is None or len(rows) < len(news):
            raise _Rotated
        return [
            self._answer(signer, allocation, grant_of(row))
            for allocation, row in zip(allocations, rows, strict=True)
        ]

    def _new(self, allocation: Allocation) -> store.NewGrant:
        work, body = self.work, self.body
        return store.NewGrant(
            id=work.new_id(Prefix.GRANT),
            place=_place(allocation),
            allocation_id=allocation.id,
            principal=self._principal(allocation),
            login=body.login,
            username=self.username,
            fingerprint=fingerprint(public_key_line(self.key)),
            source_address=[str(network) for network in body.source_address],
            force_command=body.force_command,
            pty=body.pty,
            valid_after=work.now - _SKEW,
            valid_before=work.now + timedelta(seconds=body.ttl_seconds),
            created_by=work.call.caller.id,
            correlation_id=work.call.correlation_id,
        )

    def _principal(self, allocation: Allocation) -> str:
        if self.body.login is GrantLogin.OPERATOR:
            return allocation.id
        return f"{allocation.id}:{self.work.call.caller.id}"

    def _answer(
        self, signer: SigningKey, allocation: Allocation, grant: AccessGrant
    ) -> AccessGrantIssued:
        place, serial = _place(allocation), grant.serial
        detail = {"serial": serial, "fingerprint": grant.fingerprint, "allocation": allocation.id}
        self.work.audit(Target("access_grant", grant.id, place, after=grant, detail=detail))
        self.work.emit(Happened("custody.grant.created", grant.id, place, grant_told(grant)))
        return AccessGrantIssued(
            grant=grant,
            certificate=_signed(grant, signer, self.key),
            address=allocation.address or "",
            known_hosts=[f"{allocation.address} {line}" for line in allocation.host_keys],
        )


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


def _unreachable(allocation: Allocation) -> str:
    """Why there is no machine to reach; empty when there is one."""
    if allocation.status not in _REACHABLE or allocation.address is None:
        return f"The allocation is {allocation.status}; only an active one can be reached."
    return ""


async def _place_of(allocation_id: str, conn: Connection) -> Place:
    return _place(await allocation_find(conn, allocation_id))


def _place(allocation: Allocation) -> Place:
    return Place(allocation.org_id, allocation.project_id)
