"""Signing in as a person outside a browser: a password, or a code let in with one, become a token.

Used by command lines. A password's session lives for this one exchange and is ended; the password
is kept nowhere. A code needs no password at all: whoever lets it in signs in as they always do.
Bodies are the contract's types or plain JSON, answers plain: a terminal does not wait for types.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuaas_contract.headers import CSRF_COOKIE, CSRF_HEADER
from gpuaas_sdk.calls import Calls, Plain, Request
from gpuaas_sdk.errors import GpuaasError, ProblemError

if TYPE_CHECKING:
    from gpuaas_contract.device_sign_in import DeviceSignInCreate
    from gpuaas_contract.identity import PersonalTokenCreate, SignIn


_CHOICE = 200  # a session that was begun is answered by 201


@dataclass(frozen=True)
class TokenMade:
    """A personal token that was made: its id, and what opens."""

    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True)
class CodeShown:
    """A code that waits to be let in, and where that is done."""

    user_code: str
    verification_url: str
    interval_seconds: float
    secret: str = field(repr=False)


async def password_sign_in(
    client: Calls[Any],
    who: "SignIn | dict[str, Any]",
    token: "PersonalTokenCreate | Plain",
    code: Callable[[], str] | None = None,
) -> TokenMade:
    """A personal token for whoever has this password; `client` is nobody's.

    `code` is asked for the code of an account with a second factor; without it, signing in to such
    an account fails.
    """
    try:
        begun = await client.send(Request("POST", "/sessions", who))
    except ProblemError as error:
        if error.said["code"] != "second_factor_needed" or code is None:
            raise
        again = {**_plain(who), "code": code()}
        begun = await client.send(Request("POST", "/sessions", again))
    if begun.status_code == _CHOICE:
        raise GpuaasError(_choice(begun.json()["accounts"]))
    cookies = dict(begun.cookies)
    if CSRF_COOKIE not in cookies:
        raise GpuaasError("The platform began a session without its cookie; is a proxy in between?")
    said = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = {"Cookie": said, CSRF_HEADER: cookies[CSRF_COOKIE]}
    made = await client.send(Request("POST", "/personal-tokens", token, headers=headers))
    await client.send(Request("DELETE", "/sessions/current", headers=headers))
    return _token(made.json())


async def device_sign_in_begin(
    client: Calls[Any], wanted: "DeviceSignInCreate | Plain"
) -> CodeShown:
    """A code to show to the person, who lets this terminal in with a browser anywhere."""
    begun = (await client.send(Request("POST", "/device-sign-ins", wanted))).json()
    return CodeShown(
        begun["user_code"], begun["verification_url"], begun["interval_seconds"], begun["secret"]
    )


async def device_sign_in_finish(client: Calls[Any], begun: CodeShown) -> TokenMade:
    """Wait until the person has decided; the token they let this terminal have."""
    request = Request("POST", "/device-sign-ins/redeem", {"secret": begun.secret})
    while True:
        answer = (await client.send(request)).json()
        if answer["token"] is not None:
            return _token(answer["token"])
        if answer["status"] != "pending":
            raise GpuaasError(f"The sign-in with the code {begun.user_code} is {answer['status']}.")
        await asyncio.sleep(begun.interval_seconds)


def _plain(who: "SignIn | dict[str, Any]") -> dict[str, Any]:
    return who if isinstance(who, dict) else who.model_dump(exclude_none=True)


def _choice(accounts: list[dict[str, Any]]) -> str:
    named = ", ".join(f"{one['user_id']} ({one['org_name'] or 'platform'})" for one in accounts)
    return f"This is the password of several accounts; sign in to one of them: {named}."


def _token(made: dict[str, Any]) -> TokenMade:
    return TokenMade(made["id"], made["secret"])
