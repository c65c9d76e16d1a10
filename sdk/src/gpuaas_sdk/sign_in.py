"""Signing in as a person outside a browser: a password, or a code let in with one, become a token.

Used by command lines. A password's session lives for this one exchange and is ended; the password
is kept nowhere. A code needs no password at all: whoever lets it in signs in as they always do.
"""

import asyncio

from gpuaas_contract.common import CSRF_HEADER
from gpuaas_contract.device_sign_in import (
    DeviceSignInAnswer,
    DeviceSignInBegun,
    DeviceSignInCreate,
    DeviceSignInRedeem,
    DeviceSignInStatus,
)
from gpuaas_contract.identity import (
    CSRF_COOKIE,
    PersonalTokenCreate,
    PersonalTokenCreated,
    SignIn,
)
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.errors import GpuaasError


async def password_sign_in(
    client: Client, who: SignIn, token: PersonalTokenCreate
) -> PersonalTokenCreated:
    """A personal token for whoever has this password; `client` is nobody's."""
    begun = await client.send(Request("POST", "/sessions", who))
    proof = begun.cookies.get(CSRF_COOKIE)
    if proof is None:
        raise GpuaasError("The platform began a session without its cookie; is a proxy in between?")
    headers = {CSRF_HEADER: proof}
    made = await client.call(
        Request("POST", "/personal-tokens", token, headers=headers), PersonalTokenCreated
    )
    await client.send(Request("DELETE", "/sessions/current", headers=headers))
    return made


async def device_sign_in_begin(client: Client, wanted: DeviceSignInCreate) -> DeviceSignInBegun:
    """A code to show to the person, who lets this terminal in with a browser anywhere."""
    return await client.call(Request("POST", "/device-sign-ins", wanted), DeviceSignInBegun)


async def device_sign_in_finish(client: Client, begun: DeviceSignInBegun) -> PersonalTokenCreated:
    """Wait until the person has decided; the token they let this terminal have."""
    redeem = DeviceSignInRedeem(secret=begun.secret)
    while True:
        answer = await client.call(
            Request("POST", "/device-sign-ins/redeem", redeem), DeviceSignInAnswer
        )
        if answer.token is not None:
            return answer.token
        if answer.status is not DeviceSignInStatus.PENDING:
            raise GpuaasError(f"The sign-in with the code {begun.user_code} is {answer.status}.")
        await asyncio.sleep(begun.interval_seconds)
