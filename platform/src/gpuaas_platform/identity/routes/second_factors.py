"""Routes of second factors and recovery codes."""

from functools import partial

from fastapi import APIRouter, Request, Response

from gpuaas_contract.common import Page
from gpuaas_contract.credentials import (
    PasswordProof,
    RecoveryCodes,
    RecoveryCodesLeft,
    SecondFactor,
    SecondFactorBegun,
    SecondFactorConfirm,
    SecondFactorConfirmed,
    SecondFactorCreate,
)
from gpuaas_platform.identity import second_factors as service
from gpuaas_platform.identity.cookies import site_visited
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()


@router.get("/second-factors", operation_id="second_factor_list")
async def second_factor_list(
    call: CallDep, cursor: Cursor = None, limit: Limit = 50
) -> Page[SecondFactor]:
    """List the caller's own second factors."""
    return await service.factor_list(call, call.caller.id, cursor, limit)


@router.post(
    "/second-factors",
    operation_id="second_factor_create",
    status_code=201,
    response_model=SecondFactorBegun,
)
async def second_factor_create(
    call: CallDep, given: SecondFactorCreate, request: Request
) -> Response:
    """Begin to set up a second factor; its secret is shown this once."""
    site = site_visited(call.platform, request)
    return await service.factor_create(call, given, site)


@router.post(
    "/second-factors/{factor_id}/confirm",
    operation_id="second_factor_confirm",
    response_model=SecondFactorConfirmed,
)
async def second_factor_confirm(
    call: CallDep, factor_id: str, given: SecondFactorConfirm, request: Request
) -> Response:
    """Confirm a second factor by its first code; from then on sign-ins by password ask for one."""
    site = site_visited(call.platform, request)
    return await service.factor_confirm(call, factor_id, given, site)


@router.post(
    "/second-factors/{factor_id}/remove", operation_id="second_factor_remove", status_code=204
)
async def second_factor_remove(call: CallDep, factor_id: str, given: PasswordProof) -> Response:
    """Remove one of the caller's own second factors."""
    return await service.factor_remove(call, factor_id, given)


@router.get("/recovery-codes", operation_id="recovery_codes_read")
async def recovery_codes_read(call: CallDep) -> RecoveryCodesLeft:
    """Say how many recovery codes the caller has left."""
    return await service.codes_read(call)


@router.post(
    "/recovery-codes",
    operation_id="recovery_codes_create",
    status_code=201,
    response_model=RecoveryCodes,
)
async def recovery_codes_create(call: CallDep, given: PasswordProof) -> Response:
    """Make new recovery codes; the old ones work no more."""
    return await service.codes_create(call, given)


@router.get("/users/{user_id}/second-factors", operation_id="user_second_factor_list")
async def user_second_factor_list(
    call: CallDep, user_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[SecondFactor]:
    """List the second factors of a person."""
    return await service.factor_list(call, user_id, cursor, limit)


@router.delete(
    "/users/{user_id}/second-factors", operation_id="user_second_factor_reset", status_code=204
)
async def user_second_factor_reset(call: CallDep, user_id: str) -> Response:
    """Remove all second factors of a person who lost theirs; they are signed out everywhere."""
    handler = partial(service.factors_reset, user_id)
    return await mutate(call, "identity.second_factor.reset", handler)
