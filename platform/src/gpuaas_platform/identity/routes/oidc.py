"""Routes of signing in through an OIDC provider, and of what its groups carry."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from gpuaas_contract.access import GroupMapping, GroupMappingCreate
from gpuaas_contract.common import API_PREFIX, Page
from gpuaas_contract.credentials import Session
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.federation import AuthMethods, OidcMethod, PendingSignIn, PendingSignInComplete
from gpuaas_platform.identity import groups, pending
from gpuaas_platform.identity.cookies import (
    browser_secure,
    flow_cookie_of,
    flow_cookie_set,
    pending_cookie_of,
    pending_cookie_set,
    same_site_require,
    session_answer,
    session_cookies_set,
)
from gpuaas_platform.identity.oidc_flow import FLOW_SECONDS, flow_resume
from gpuaas_platform.identity.oidc_sign_in import (
    PENDING_SECONDS,
    Returned,
    Waiting,
    provider_find,
    sign_in_begin,
    sign_in_finish,
)
from gpuaas_platform.identity.providers import redirect_path
from gpuaas_platform.identity.routes.users import OrgFilter
from gpuaas_platform.identity.sessions import SessionBegun
from gpuaas_platform.kernel.call import Call, CallDep, OpenCallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.public_url import base_of, port_of
from gpuaas_platform.kernel.work import mutate

router = APIRouter()


@dataclass(frozen=True)
class CameBack:
    """What a provider sends a browser back with."""

    code: Annotated[str | None, Query(max_length=4000)] = None
    state: Annotated[str | None, Query(max_length=200)] = None
    iss: Annotated[str | None, Query(max_length=1000)] = None


CameBackDep = Annotated[CameBack, Depends()]
_ELSEWHERE: dict[int | str, dict[str, Any]] = {
    303: {"description": "The browser goes on elsewhere"}
}


ProviderId = Annotated[
    str | None,
    Query(max_length=64, description="A tenant's provider; the operator's when left out"),
]


@router.get("/auth/methods", operation_id="auth_methods_read")
async def auth_methods_read(call: OpenCallDep, provider: ProviderId = None) -> AuthMethods:
    """Show the ways to sign in here; a tenant's provider is shown by its id alone."""
    try:
        found = await provider_find(call.platform, provider)
    except PlatformError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return AuthMethods(local=True, oidc=None)
    start = f"{API_PREFIX}/auth/oidc/start"
    if provider is not None:
        start = f"{start}?{urlencode({'provider': provider})}"
    return AuthMethods(local=True, oidc=OidcMethod(name=found.name, start_url=start))


@router.get(
    "/auth/oidc/start",
    operation_id="oidc_start",
    status_code=303,
    response_class=RedirectResponse,
    responses=_ELSEWHERE,
)
async def oidc_start(
    call: OpenCallDep,
    request: Request,
    return_to: Annotated[
        str, Query(max_length=1000, description="Page of ours to end at; other sites are not")
    ] = "/",
    provider: ProviderId = None,
) -> Response:
    """Send the browser to the provider."""
    secure = browser_secure(call.platform, request)
    redirect_uri = _redirect_uri(call, request, provider)
    flow, url = await sign_in_begin(call, provider, return_to, redirect_uri)
    answer = RedirectResponse(url, 303)
    flow_cookie_set(answer, flow.cookie, FLOW_SECONDS, secure=secure)
    return answer


@router.get(
    "/auth/oidc/callback",
    operation_id="oidc_callback",
    status_code=303,
    response_class=RedirectResponse,
    responses=_ELSEWHERE,
)
async def oidc_callback(call: OpenCallDep, request: Request, came: CameBackDep) -> Response:
    """Take the operator's provider's answer, and go on to the page the sign-in was for."""
    return await _returned(call, request, None, came)


@router.get(
    "/auth/oidc/callback/{provider_id}",
    operation_id="oidc_provider_callback",
    status_code=303,
    response_class=RedirectResponse,
    responses=_ELSEWHERE,
)
async def oidc_provider_callback(
    call: OpenCallDep, request: Request, provider_id: str, came: CameBackDep
) -> Response:
    """Take the answer of a tenant's provider, and go on to the page the sign-in was for."""
    return await _returned(call, request, provider_id, came)


@router.get("/auth/oidc/pending", operation_id="pending_sign_in_read")
async def pending_sign_in_read(call: OpenCallDep, request: Request) -> PendingSignIn:
    """Show the accounts this browser may choose, which has just signed in at a provider."""
    secure = browser_secure(call.platform, request)
    return await pending.pending_read(call, pending_cookie_of(request, secure=secure))


@router.post(
    "/auth/oidc/pending",
    operation_id="pending_sign_in_complete",
    status_code=201,
    response_model=Session,
)
async def pending_sign_in_complete(
    call: OpenCallDep, given: PendingSignInComplete, request: Request
) -> Response:
    """Sign in to one of those accounts; the session goes into a cookie."""
    same_site_require(request)
    secure = browser_secure(call.platform, request)
    secret = pending_cookie_of(request, secure=secure)
    begun = await pending.pending_complete(call, secret, given)
    answer = session_answer(call.platform, begun, secure=secure)
    pending_cookie_set(answer, "", 0, secure=secure)
    return answer


@router.post(
    "/group-mappings",
    operation_id="group_mapping_create",
    status_code=201,
    response_model=GroupMapping,
)
async def group_mapping_create(call: CallDep, given: GroupMappingCreate) -> Response:
    """Let a group at the provider carry a role."""
    handler = partial(groups.mapping_create, given)
    return await mutate(call, "identity.group_mapping.create", handler)


@router.get("/group-mappings", operation_id="group_mapping_list")
async def group_mapping_list(
    call: CallDep, org_id: OrgFilter = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[GroupMapping]:
    """List the group mappings in the caller's reach."""
    return await groups.mapping_list(call, org_id, cursor, limit)


@router.delete("/group-mappings/{mapping_id}", operation_id="group_mapping_delete", status_code=204)
async def group_mapping_delete(call: CallDep, mapping_id: str) -> Response:
    """End a group mapping and the bindings that follow it."""
    handler = partial(groups.mapping_delete, mapping_id)
    return await mutate(call, "identity.group_mapping.delete", handler)


async def _returned(
    call: Call, request: Request, provider_id: str | None, came: CameBack
) -> Response:
    secure = browser_secure(call.platform, request)
    flow = flow_resume(flow_cookie_of(request, secure=secure), came.state)
    redirect_uri = _redirect_uri(call, request, provider_id)
    returned = Returned(flow, came.code, came.iss, redirect_uri, provider_id)
    return_to = "/" if flow is None else flow.return_to
    try:
        begun = await sign_in_finish(call, returned)
    except PlatformError as error:
        answer = _sign_in_page(call, error)
    else:
        if isinstance(begun, Waiting):
            query = urlencode({"choose": "1", "return_to": return_to})
            answer = RedirectResponse(f"/sign-in?{query}", 303)
            pending_cookie_set(answer, begun.secret, PENDING_SECONDS, secure=secure)
        else:
            answer = RedirectResponse(return_to, 303)
            told = SessionBegun.model_validate_json(bytes(begun.body))
            seconds = call.platform.settings.session_seconds
            session_cookies_set(answer, told.secret, seconds, secure=secure)
    flow_cookie_set(answer, "", 0, secure=secure)
    return answer


def _redirect_uri(call: Call, request: Request, provider_id: str | None) -> str:
    settings = call.platform.settings
    base = base_of(settings, port_of(settings, request), call.source)
    return f"{base}{redirect_path(provider_id)}"


def _sign_in_page(call: Call, error: PlatformError) -> Response:
    """Back to the page people know, with what a support person needs to help them."""
    query = urlencode({"error": error.code, "correlation_id": call.correlation_id})
    return RedirectResponse(f"/sign-in?{query}", 303)
