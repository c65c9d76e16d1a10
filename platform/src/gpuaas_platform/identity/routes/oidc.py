"""Routes of signing in through an OIDC provider, and of what its groups carry."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from gpuaas_contract.access import GroupMapping, GroupMappingCreate
from gpuaas_contract.common import API_PREFIX, Page
from gpuaas_contract.identity import AuthMethods, OidcMethod
from gpuaas_platform.identity import groups
from gpuaas_platform.identity.cookies import (
    browser_secure,
    flow_cookie_of,
    flow_cookie_set,
    session_cookies_set,
)
from gpuaas_platform.identity.oidc_flow import FLOW_SECONDS, flow_resume
from gpuaas_platform.identity.oidc_sign_in import Returned, sign_in_begin, sign_in_finish
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.routes.users import OrgFilter
from gpuaas_platform.identity.sessions import SessionBegun
from gpuaas_platform.kernel.call import Call, CallDep, OpenCallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.public_url import base_of, port_of
from gpuaas_platform.kernel.work import mutate

router = APIRouter()

_CALLBACK = f"{API_PREFIX}/auth/oidc/callback"
_ELSEWHERE: dict[int | str, dict[str, Any]] = {
    303: {"description": "The browser goes on elsewhere"}
}


@router.get("/auth/methods", operation_id="auth_methods_read")
async def auth_methods_read(call: OpenCallDep) -> AuthMethods:
    """Tell the ways to sign in here."""
    provider = parts_of(call.platform).provider
    if provider is None:
        return AuthMethods(local=True, oidc=None)
    start = f"{API_PREFIX}/auth/oidc/start"
    return AuthMethods(local=True, oidc=OidcMethod(name=provider.name, start_url=start))


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
) -> Response:
    """Send the browser to the provider."""
    secure = browser_secure(call.platform, request)
    flow, url = await sign_in_begin(call, return_to, _redirect_uri(call, request))
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
async def oidc_callback(
    call: OpenCallDep,
    request: Request,
    code: Annotated[str | None, Query(max_length=4000)] = None,
    state: Annotated[str | None, Query(max_length=200)] = None,
    iss: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Take the provider's answer, begin the session, and go on to the page it was for."""
    secure = browser_secure(call.platform, request)
    flow = flow_resume(flow_cookie_of(request, secure=secure), state)
    returned = Returned(flow, code, iss, _redirect_uri(call, request))
    try:
        begun = await sign_in_finish(call, returned)
    except PlatformError as error:
        answer = _sign_in_page(call, error)
    else:
        answer = RedirectResponse("/" if flow is None else flow.return_to, 303)
        told = SessionBegun.model_validate_json(bytes(begun.body))
        seconds = call.platform.settings.session_seconds
        session_cookies_set(answer, told.secret, seconds, secure=secure)
    flow_cookie_set(answer, "", 0, secure=secure)
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


def _redirect_uri(call: Call, request: Request) -> str:
    settings = call.platform.settings
    base = base_of(settings, port_of(settings, request), call.source)
    return f"{base}{_CALLBACK}"


def _sign_in_page(call: Call, error: PlatformError) -> Response:
    """Back to the page people know, with what a support person needs to help them."""
    query = urlencode({"error": error.code, "correlation_id": call.correlation_id})
    return RedirectResponse(f"/sign-in?{query}", 303)
