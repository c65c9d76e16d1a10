"""Routes of service accounts, their keys, and the tokens keys are exchanged for."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from gpuaas_contract.common import Page
from gpuaas_contract.identity import (
    AccessToken,
    PublicKeySet,
    ServiceAccount,
    ServiceAccountCreate,
    ServiceAccountKey,
    ServiceAccountKeyCreate,
    ServiceAccountKeyCreated,
    ServiceAccountUpdate,
    TokenExchange,
)
from gpuaas_platform.identity import accounts as service
from gpuaas_platform.identity import tokens
from gpuaas_platform.kernel.call import CallDep, OpenCallDep
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()

RoleFilter = Annotated[
    str | None, Query(max_length=64, description="Only those that hold this role")
]


@router.post(
    "/projects/{project_id}/service-accounts",
    operation_id="service_account_create",
    status_code=201,
    response_model=ServiceAccount,
)
async def service_account_create(
    call: CallDep, project_id: str, given: ServiceAccountCreate
) -> Response:
    """Make a service account that acts in this project."""
    handler = partial(service.account_create, project_id, given)
    return await mutate(call, "identity.service_account.create", handler)


@router.get("/projects/{project_id}/service-accounts", operation_id="service_account_list")
async def service_account_list(
    call: CallDep,
    project_id: str,
    role: RoleFilter = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ServiceAccount]:
    """List a project's service accounts."""
    query = service.AccountQuery(project_id, role, cursor, limit)
    return await service.account_list(call, query)


@router.get("/service-accounts/{account_id}", operation_id="service_account_read")
async def service_account_read(
    call: CallDep, account_id: str, response: Response
) -> ServiceAccount:
    """Read a service account."""
    account = await service.account_read(call, account_id)
    response.headers.update(etag_headers(account.revision))
    return account


@router.patch(
    "/service-accounts/{account_id}",
    operation_id="service_account_update",
    response_model=ServiceAccount,
)
async def service_account_update(
    call: CallDep, account_id: str, given: ServiceAccountUpdate
) -> Response:
    """Change a service account, or close it."""
    handler = partial(service.account_update, account_id, given)
    return await mutate(call, "identity.service_account.update", handler)


@router.put(
    "/service-accounts/{account_id}/public-key",
    operation_id="service_account_public_key_set",
    response_model=ServiceAccount,
)
async def service_account_public_key_set(
    call: CallDep, account_id: str, given: PublicKeySet
) -> Response:
    """Register the key that secrets for this service account are sealed to."""
    handler = partial(service.public_key_set, account_id, given)
    return await mutate(call, "identity.service_account.public_key_set", handler)


@router.post(
    "/service-accounts/{account_id}/keys",
    operation_id="service_account_key_create",
    status_code=201,
    response_model=ServiceAccountKeyCreated,
)
async def service_account_key_create(
    call: CallDep, account_id: str, given: ServiceAccountKeyCreate
) -> Response:
    """Make a key, or rotate one by naming it; the secret is shown this once."""
    handler = partial(service.key_create, account_id, given)
    return await mutate(call, "identity.service_account_key.create", handler)


@router.get("/service-accounts/{account_id}/keys", operation_id="service_account_key_list")
async def service_account_key_list(
    call: CallDep, account_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[ServiceAccountKey]:
    """List the keys of a service account, also those that have ended."""
    return await service.key_list(call, account_id, cursor, limit)


@router.delete(
    "/service-account-keys/{key_id}",
    operation_id="service_account_key_revoke",
    response_model=ServiceAccountKey,
)
async def service_account_key_revoke(call: CallDep, key_id: str) -> Response:
    """Revoke a key and every token made from it, at once."""
    handler = partial(service.key_revoke, key_id)
    return await mutate(call, "identity.service_account_key.revoke", handler)


@router.post("/tokens", operation_id="token_create", status_code=201, response_model=AccessToken)
async def token_create(call: OpenCallDep, given: TokenExchange) -> Response:
    """Exchange a service account's key for a short-lived bearer token."""
    return await tokens.token_exchange(call, given)
