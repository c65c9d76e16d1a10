"""Routes that sign a person out everywhere, and that manage other people's credentials."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from gpuaas_contract.common import Page
from gpuaas_contract.credentials import CredentialsEnded, Session, SignInFailure
from gpuaas_contract.identity import PersonalToken
from gpuaas_platform.identity import revocation, sessions, tokens
from gpuaas_platform.identity.cookies import browser_secure, session_cookies_clear
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()

TokensToo = Annotated[bool, Query(alias="tokens", description="Personal tokens end too")]


@router.delete("/sessions", operation_id="session_end_all", response_model=CredentialsEnded)
async def session_end_all(
    call: CallDep, request: Request, tokens_too: TokensToo = True
) -> Response:
    """Sign the caller out everywhere, here too; personal tokens end unless they are kept."""
    handler = partial(revocation.session_end_all, call.caller.id, tokens_too)
    answer = await mutate(call, "identity.session.end_all", handler)
    session_cookies_clear(answer, secure=browser_secure(call.platform, request))
    return answer


@router.get("/sign-in-failures", operation_id="sign_in_failure_list")
async def sign_in_failure_list(
    call: CallDep, cursor: Cursor = None, limit: Limit = 50
) -> Page[SignInFailure]:
    """List failed sign-ins to the caller's own account, by the address they came from."""
    return await revocation.failure_list(call, call.caller.id, cursor, limit)


@router.get("/users/{user_id}/sign-in-failures", operation_id="user_sign_in_failure_list")
async def user_sign_in_failure_list(
    call: CallDep, user_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[SignInFailure]:
    """List failed sign-ins to a person's account, by the address they came from."""
    return await revocation.failure_list(call, user_id, cursor, limit)


@router.get("/users/{user_id}/sessions", operation_id="user_session_list")
async def user_session_list(
    call: CallDep, user_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[Session]:
    """List the sessions of a person whose account the caller's tenant or the platform manages."""
    return await sessions.session_list(call, user_id, cursor, limit)


@router.delete(
    "/users/{user_id}/sessions",
    operation_id="user_session_end_all",
    response_model=CredentialsEnded,
)
async def user_session_end_all(
    call: CallDep, user_id: str, tokens_too: TokensToo = True
) -> Response:
    """Sign a person out everywhere; personal tokens end unless they are kept."""
    handler = partial(revocation.session_end_all, user_id, tokens_too)
    return await mutate(call, "identity.session.end_all", handler)


@router.delete(
    "/users/{user_id}/sessions/{session_id}", operation_id="user_session_end", status_code=204
)
async def user_session_end(call: CallDep, user_id: str, session_id: str) -> Response:
    """End one session of a person."""
    handler = partial(sessions.session_end, user_id, session_id)
    return await mutate(call, "identity.session.end", handler)


@router.get("/users/{user_id}/personal-tokens", operation_id="user_personal_token_list")
async def user_personal_token_list(
    call: CallDep, user_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[PersonalToken]:
    """List the tokens of a person whose account the caller's tenant or the platform manages."""
    return await tokens.personal_list(call, user_id, cursor, limit)


@router.delete(
    "/users/{user_id}/personal-tokens/{token_id}",
    operation_id="user_personal_token_revoke",
    status_code=204,
)
async def user_personal_token_revoke(call: CallDep, user_id: str, token_id: str) -> Response:
    """Revoke one token of a person, at once."""
    handler = partial(tokens.personal_revoke, user_id, token_id)
    return await mutate(call, "identity.personal_token.revoke", handler)
