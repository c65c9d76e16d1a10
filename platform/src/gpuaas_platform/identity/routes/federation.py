"""Routes of tenants' identity providers and domains."""

from functools import partial

from fastapi import APIRouter, Response

from gpuaas_contract.common import Page
from gpuaas_contract.federation import (
    DomainApproval,
    IdentityProvider,
    IdentityProviderCreate,
    IdentityProviderUpdate,
    TenantDomain,
    TenantDomainCreate,
)
from gpuaas_platform.identity import domains, providers
from gpuaas_platform.identity.parts import dns_of, providers_of
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()


@router.post(
    "/tenants/{org_id}/identity-providers",
    operation_id="identity_provider_create",
    status_code=201,
    response_model=IdentityProvider,
)
async def identity_provider_create(
    call: CallDep, org_id: str, given: IdentityProviderCreate
) -> Response:
    """Set up an identity provider of a tenant."""
    problem = await providers.provider_looked_at(call, providers_of(call.platform), org_id, given)
    looked = (problem, await keyring_of(call.platform))
    handler = partial(providers.provider_create, org_id, given, looked)
    return await mutate(call, "identity.provider.create", handler)


@router.get("/tenants/{org_id}/identity-providers", operation_id="identity_provider_list")
async def identity_provider_list(
    call: CallDep, org_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[IdentityProvider]:
    """List a tenant's identity providers."""
    return await providers.provider_list(call, org_id, cursor, limit)


@router.get("/identity-providers/{provider_id}", operation_id="identity_provider_read")
async def identity_provider_read(
    call: CallDep, provider_id: str, response: Response
) -> IdentityProvider:
    """Read an identity provider."""
    provider = await providers.provider_read(call, provider_id)
    response.headers.update(etag_headers(provider.revision))
    return provider


@router.patch(
    "/identity-providers/{provider_id}",
    operation_id="identity_provider_update",
    response_model=IdentityProvider,
)
async def identity_provider_update(
    call: CallDep, provider_id: str, given: IdentityProviderUpdate
) -> Response:
    """Change an identity provider, or stop sign-in through it."""
    keyring = await keyring_of(call.platform)
    handler = partial(providers.provider_update, provider_id, given, keyring)
    return await mutate(call, "identity.provider.update", handler)


@router.post(
    "/identity-providers/{provider_id}/check",
    operation_id="identity_provider_check",
    response_model=IdentityProvider,
)
async def identity_provider_check(call: CallDep, provider_id: str) -> Response:
    """Read the provider's description and keys now, and keep what is wrong with them."""
    problem = await providers.provider_found(call, providers_of(call.platform), provider_id)
    handler = partial(providers.provider_check, provider_id, problem)
    return await mutate(call, "identity.provider.check", handler)


@router.delete(
    "/identity-providers/{provider_id}", operation_id="identity_provider_delete", status_code=204
)
async def identity_provider_delete(call: CallDep, provider_id: str) -> Response:
    """Remove an identity provider, its links and its group mappings; its people are signed out."""
    handler = partial(providers.provider_delete, provider_id)
    return await mutate(call, "identity.provider.delete", handler)


@router.post(
    "/tenants/{org_id}/domains",
    operation_id="tenant_domain_create",
    status_code=201,
    response_model=TenantDomain,
)
async def tenant_domain_create(call: CallDep, org_id: str, given: TenantDomainCreate) -> Response:
    """Claim a domain of email addresses for a tenant; the answer says how to prove it."""
    handler = partial(domains.domain_create, org_id, given)
    return await mutate(call, "identity.domain.create", handler)


@router.get("/tenants/{org_id}/domains", operation_id="tenant_domain_list")
async def tenant_domain_list(
    call: CallDep, org_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[TenantDomain]:
    """List a tenant's domains and claims."""
    return await domains.domain_list(call, org_id, cursor, limit)


@router.post(
    "/domains/{domain_id}/verify",
    operation_id="tenant_domain_verify",
    response_model=TenantDomain,
)
async def tenant_domain_verify(call: CallDep, domain_id: str) -> Response:
    """Look for the record that proves a claim, and make the domain the tenant's."""
    proved = await domains.domain_proved(call, dns_of(call.platform), domain_id)
    handler = partial(domains.domain_verify, domain_id, proved)
    return await mutate(call, "identity.domain.verify", handler)


@router.post(
    "/domains/{domain_id}/approve",
    operation_id="tenant_domain_approve",
    response_model=TenantDomain,
)
async def tenant_domain_approve(call: CallDep, domain_id: str, given: DomainApproval) -> Response:
    """Decide, as the platform's operator, that a domain is the tenant's that claims it."""
    handler = partial(domains.domain_approve, domain_id, given)
    return await mutate(call, "identity.domain.approve", handler)


@router.delete("/domains/{domain_id}", operation_id="tenant_domain_delete", status_code=204)
async def tenant_domain_delete(call: CallDep, domain_id: str) -> Response:
    """Withdraw a claim to a domain; accounts and links made by it stay."""
    handler = partial(domains.domain_delete, domain_id)
    return await mutate(call, "identity.domain.delete", handler)
