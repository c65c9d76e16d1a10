"""Routes of people, their passwords and their personal tokens."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from gpuaas_contract.common import Page
from gpuaas_contract.identity import (
    PasswordSet,
    PersonalToken,
    PersonalTokenCreate,
    PersonalTokenCreated,
    User,
    UserCreate,
    UserUpdate,
)
from gpuaas_platform.identity import tokens
from gpuaas_platform.identity import users as service
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()

OrgFilter = Annotated[str | None, Query(max_length=64, description="Only of this tenant")]
EmailFilter = Annotated[str | None, Query(max_length=254, description="Only this address")]


@router.post("/users", operation_id="user_create", status_code=201, response_model=User)
async def user_create(call: CallDep, given: UserCreate) -> Response:
    """Make a person whose account the platform manages."""
    owner = service.PasswordOwner(given.email, given.display_name)
    hashed = await service.password_hash(call, given.password, owner)
    handler = partial(service.user_create, None, given, hashed)
    return await mutate(call, "identity.user.create", handler)


@router.post(
    "/tenants/{org_id}/users",
    operation_id="tenant_user_create",
    status_code=201,
    response_model=User,
)
async def tenant_user_create(call: CallDep, org_id: str, given: UserCreate) -> Response:
    """Make a person whose account a tenant manages."""
    owner = service.PasswordOwner(given.email, given.display_name, org_id)
    hashed = await service.password_hash(call, given.password, owner)
    handler = partial(service.user_create, org_id, given, hashed)
    return await mutate(call, "identity.user.create", handler)


@router.get("/users", operation_id="user_list")
async def user_list(
    call: CallDep,
    org_id: OrgFilter = None,
    email: EmailFilter = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[User]:
    """List the people in the caller's reach."""
    return await service.user_list(call, service.UserQuery(org_id, email, cursor, limit))


@router.get("/users/{user_id}", operation_id="user_read")
async def user_read(call: CallDep, user_id: str, response: Response) -> User:
    """Read a person."""
    user = await service.user_read(call, user_id)
    response.headers.update(etag_headers(user.revision))
    return user


@router.patch("/users/{user_id}", operation_id="user_update", response_model=User)
async def user_update(call: CallDep, user_id: str, given: UserUpdate) -> Response:
    """Change a person, or let them in no longer."""
    handler = partial(service.user_update, user_id, given)
    return await mutate(call, "identity.user.update", handler)


@router.put("/users/{user_id}/password", operation_id="user_password_set", status_code=204)
async def user_password_set(call: CallDep, user_id: str, given: PasswordSet) -> Response:
    """Set a password: one's own with the present one, or that of somebody who may do no more."""
    hashed = await service.password_prepare(call, user_id, given)
    handler = partial(service.password_set, user_id, hashed, given.end_tokens)
    return await mutate(call, service.PASSWORD_SET, handler)


@router.post(
    "/personal-tokens",
    operation_id="personal_token_create",
    status_code=201,
    response_model=PersonalTokenCreated,
)
async def personal_token_create(call: CallDep, given: PersonalTokenCreate) -> Response:
    """Make a token for the caller's own scripts; its secret is shown this once."""
    handler = partial(tokens.personal_create, given)
    return await mutate(call, "identity.personal_token.create", handler)


@router.get("/personal-tokens", operation_id="personal_token_list")
async def personal_token_list(
    call: CallDep, cursor: Cursor = None, limit: Limit = 50
) -> Page[PersonalToken]:
    """List the caller's own tokens."""
    return await tokens.personal_list(call, call.caller.id, cursor, limit)


@router.delete("/personal-tokens/{token_id}", operation_id="personal_token_revoke", status_code=204)
async def personal_token_revoke(call: CallDep, token_id: str) -> Response:
    """Revoke one of the caller's own tokens, at once."""
    handler = partial(tokens.personal_revoke, call.caller.id, token_id)
    return await mutate(call, "identity.personal_token.revoke", handler)
