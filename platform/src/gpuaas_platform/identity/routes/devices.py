"""Routes of signing a terminal in. The terminal's own are open; the person's need their session."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from gpuaas_contract.device_sign_in import (
    DeviceSignIn,
    DeviceSignInAnswer,
    DeviceSignInBegun,
    DeviceSignInCreate,
    DeviceSignInDecision,
    DeviceSignInRedeem,
)
from gpuaas_platform.identity import devices
from gpuaas_platform.kernel.call import CallDep, OpenCallDep

router = APIRouter()

UserCode = Annotated[str, Path(max_length=20, description="The code the terminal shows")]


@router.post(
    "/device-sign-ins",
    operation_id="device_sign_in_create",
    status_code=201,
    response_model=DeviceSignInBegun,
)
async def device_sign_in_create(call: OpenCallDep, given: DeviceSignInCreate) -> Response:
    """Begin to sign a terminal in: it shows the code and waits for a person to let it in."""
    return await devices.device_create(call, given)


@router.post(
    "/device-sign-ins/redeem",
    operation_id="device_sign_in_redeem",
    response_model=DeviceSignInAnswer,
)
async def device_sign_in_redeem(
    call: OpenCallDep, given: DeviceSignInRedeem
) -> Response | DeviceSignInAnswer:
    """Ask whether a terminal was let in; its token is answered once."""
    return await devices.device_redeem(call, given)


@router.get("/device-sign-ins/{user_code}", operation_id="device_sign_in_read")
async def device_sign_in_read(call: CallDep, user_code: UserCode) -> DeviceSignIn:
    """Show the terminal behind a code to the person who is asked to let it in."""
    return await devices.device_read(call, user_code)


@router.post(
    "/device-sign-ins/{user_code}/decide",
    operation_id="device_sign_in_decide",
    response_model=DeviceSignIn,
)
async def device_sign_in_decide(
    call: CallDep, user_code: UserCode, given: DeviceSignInDecision
) -> Response:
    """Let a terminal in as oneself, or refuse it."""
    return await devices.device_decide(call, user_code, given)
