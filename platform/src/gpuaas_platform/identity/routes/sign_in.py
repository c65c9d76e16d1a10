"""Routes of signing in and out, and of who one is. Those that sign in are open to everybody."""

from functools import partial

from fastapi import APIRouter, Request, Response

from gpuaas_contract.access import Whoami
from gpuaas_contract.common import Page
from gpuaas_contract.credentials import PasskeyChallenge, Session
from gpuaas_contract.federation import SignInChoice
from gpuaas_contract.identity import SignIn
from gpuaas_platform.identity import sessions, whoami
from gpuaas_platform.identity.cookies import (
    browser_secure,
    device_cookie_of,
    same_site_require,
    session_answer,
    session_cookies_clear,
    site_visited,
)
from gpuaas_platform.kernel.call import CallDep, OpenCallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()


@router.post(
    "/sessions",
    operation_id="session_create",
    status_code=201,
    response_model=Session,
    responses={200: {"model": SignInChoice, "description": "The password is that of several"}},
)
async def session_create(call: OpenCallDep, given: SignIn, request: Request) -> Response:
    """Sign in with email and password; the session goes into a cookie.

    Where the address and the password are those of accounts in several tenants, the answer is a
    choice with status 200, and nobody is signed in.
    """
    same_site_require(request)
    secure = browser_secure(call.platform, request)
    site = site_visited(call.platform, request)
    begun = await sessions.session_create(
        call, given, sessions.Visit(device_cookie_of(request, secure=secure), site)
    )
    if isinstance(begun, SignInChoice):
        return _choice_answer(begun)
    return session_answer(call.platform, begun, secure=secure)


@router.post(
    "/passkey-challenges",
    operation_id="passkey_challenge_create",
    status_code=201,
    response_model=PasskeyChallenge,
    responses={200: {"model": SignInChoice, "description": "The password is that of several"}},
)
async def passkey_challenge_create(call: OpenCallDep, given: SignIn, request: Request) -> Response:
    """Ask what a passkey is to sign, with email and password, before signing in with both."""
    same_site_require(request)
    secure = browser_secure(call.platform, request)
    site = site_visited(call.platform, request)
    visit = sessions.Visit(device_cookie_of(request, secure=secure), site)
    asked = await sessions.passkey_challenge_create(call, given, visit)
    return _choice_answer(asked) if isinstance(asked, SignInChoice) else asked


@router.get("/sessions", operation_id="session_list")
async def session_list(call: CallDep, cursor: Cursor = None, limit: Limit = 50) -> Page[Session]:
    """List the caller's own sessions."""
    return await sessions.session_list(call, call.caller.id, cursor, limit)


@router.delete("/sessions/{session_id}", operation_id="session_end", status_code=204)
async def session_end(call: CallDep, session_id: str, request: Request) -> Response:
    """End one of the caller's own sessions; `current` is the one the request came with."""
    handler = partial(sessions.session_end, call.caller.id, session_id)
    answer = await mutate(call, "identity.session.end", handler)
    if session_id in {"current", call.caller.token_id}:
        session_cookies_clear(answer, secure=browser_secure(call.platform, request))
    return answer


@router.get("/whoami", operation_id="whoami_read")
async def whoami_read(call: CallDep) -> Whoami:
    """Tell the caller who they are and what they may do."""
    return await whoami.whoami(call)


def _choice_answer(choice: SignInChoice) -> Response:
    return Response(choice.model_dump_json(), 200, media_type="application/json")
