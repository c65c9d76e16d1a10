"""Rules of tenants' domains: claimed by a DNS record, or given by the operator's decision.

Any tenant may ask for a domain and does not see who else does; one tenant has it. A claim covers
that domain alone, no subdomain. What it gives: the tenant's provider, and the operator's, may make
and link accounts of the tenant for addresses of the domain.
"""

import base64
from typing import Final

from gpuaas_contract.access import REASON_MIN
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.federation import (
    DomainAction,
    DomainApproval,
    DomainProof,
    DomainState,
    TenantDomain,
    TenantDomainCreate,
)
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.dns import TxtResolver
from gpuaas_platform.identity.linking import domain_key
from gpuaas_platform.identity.places import tenant_place
from gpuaas_platform.identity.store import federation as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_RECORD: Final = "_gpuaas-challenge"
_VALUE: Final = "gpuaas-domain-verification"
_CHALLENGE_BYTES: Final = 20


async def domain_create(org_id: str, given: TenantDomainCreate, work: Work) -> Answer[TenantDomain]:
    """Claim a domain; it is the tenant's once it is proved."""
    place = await tenant_place(work.conn, org_id)
    work.require(Permission.PROVIDER_MANAGE, place)
    domain = domain_key(given.domain)
    if domain is None:
        raise invalid("/domain", "is not a domain of email addresses, such as example.org")
    challenge = work.call.platform.clock.randomness(_CHALLENGE_BYTES)
    new = store.NewDomain(
        id=work.new_id(Prefix.TENANT_DOMAIN),
        org_id=org_id,
        domain=domain,
        challenge=base64.b32encode(challenge).decode().lower(),
        created_by=work.call.caller.id,
        now=work.now,
    )
    row = await store.domain_insert(work.conn, new)
    if row is None:
        raise PlatformError(ErrorCode.NAME_TAKEN, "The tenant has claimed this domain already.")
    made = _domain(row)
    work.audit(Target("tenant_domain", made.id, place, after=made))
    work.emit(Happened("identity.domain.claimed", made.id, place, _told(made)))
    return Answer(made, 201)


async def domain_list(
    call: Call, org_id: str, cursor: str | None, limit: int
) -> Page[TenantDomain]:
    """A tenant's claims."""
    async with call.db.connection() as conn:
        call.caller.require(Permission.PROVIDER_READ, await tenant_place(conn, org_id))
        rows = await store.domains_page(conn, org_id, cursor_decode(cursor), limit + 1)
    return page_of([_domain(row) for row in rows], limit, lambda one: one.id)


async def domain_proved(call: Call, resolver: TxtResolver, domain_id: str) -> bool:
    """Whether the domain's record is there; asked before any transaction begins."""
    async with call.db.connection() as conn:
        row = await store.domain_read(conn, domain_id)
    if row is None or not call.caller.allows(Permission.PROVIDER_MANAGE, Place(row["org_id"])):
        return False  # refused where the claim is verified
    claim = _domain(row)
    found = await resolver.txt(claim.record_name)
    return claim.record_value in (text.strip() for text in found)


async def domain_verify(domain_id: str, proved: bool, work: Work) -> Answer[TenantDomain]:
    """Give the tenant the domain it has proved."""
    row = await _held(domain_id, work)
    claim = _domain(row)
    work.require(Permission.PROVIDER_MANAGE, Place(claim.org_id))
    if not proved:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"There is no TXT record {claim.record_name} that holds {claim.record_value}. A new"
            " record can take some minutes to be seen.",
        )
    return await _given(row, DomainProof.DNS, "", work)


async def domain_approve(domain_id: str, given: DomainApproval, work: Work) -> Answer[TenantDomain]:
    """Give a tenant a domain without a record, as the operator, with a reason."""
    work.require(Permission.DOMAIN_DECIDE, PLATFORM)
    reason = given.reason.strip()
    if len(reason) < REASON_MIN:
        raise PlatformError(
            ErrorCode.REASON_REQUIRED,
            f"Say why, in {REASON_MIN} characters or more; the tenant will read it.",
        )
    return await _given(await _held(domain_id, work), DomainProof.OPERATOR, reason, work)


async def domain_delete(domain_id: str, work: Work) -> Answer[TenantDomain]:
    """Withdraw a claim. Accounts and links that were made by it stay."""
    claim = _domain(await _held(domain_id, work))
    place = Place(claim.org_id)
    work.require(Permission.PROVIDER_MANAGE, place)
    await store.domain_delete(work.conn, domain_id)
    work.audit(Target("tenant_domain", domain_id, place, before=claim))
    work.emit(Happened("identity.domain.withdrawn", domain_id, place, _told(claim)))
    return Answer(None, 204)


async def _held(domain_id: str, work: Work) -> Record:
    row = await store.domain_lock(work.conn, domain_id)
    if row is None:
        raise not_found("domain", domain_id)
    return row


async def _given(row: Record, proof: DomainProof, reason: str, work: Work) -> Answer[TenantDomain]:
    before = _domain(row)
    place = Place(before.org_id)
    if before.state is DomainState.VERIFIED:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The domain is the tenant's already.")
    written = await store.domain_verify(work.conn, before.id, proof, work.now)
    if written is None:
        raise PlatformError(
            ErrorCode.CONFLICT,
            "Another tenant has claimed this domain. The platform's operator decides whose it is.",
        )
    after = _domain(written)
    detail = {"domain": after.domain, "proof": str(proof)}
    work.audit(
        Target("tenant_domain", after.id, place, before, after, reason=reason, detail=detail)
    )
    data = {**_told(after), "proof": str(proof), "reason": reason}
    work.emit(Happened("identity.domain.verified", after.id, place, data))
    return Answer(after)


def _domain(row: Record) -> TenantDomain:
    verified = row["verified_at"] is not None
    return TenantDomain(
        id=row["id"],
        org_id=row["org_id"],
        domain=row["domain"],
        state=DomainState.VERIFIED if verified else DomainState.PENDING,
        next_action=None if verified else DomainAction.PUBLISH_RECORD,
        record_name=f"{_RECORD}.{row['domain']}",
        record_value=f"{_VALUE}={row['challenge']}",
        verified_at=row["verified_at"],
        verified_by=row["verified_by"],
        created_by=row["created_by"],
        created_at=row["created_at"],
    )


def _told(claim: TenantDomain) -> dict[str, object]:
    return {"domain": claim.domain, "state": str(claim.state)}
