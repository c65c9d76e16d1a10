"""Signing in as a person outside a browser: email and password become a personal token.

Used by command lines. The session lives for this one exchange and is ended; the password is kept
nowhere.
"""

from gpuaas_contract.common import CSRF_HEADER
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
