"""Who is calling: from a bearer token or a session cookie to a `Caller`.

Wired into the platform by `main.py`. Other rooms that know callers of their own (machines) register
a resolver for their tokens' prefix in the platform's parts: `authenticator:<prefix>`.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from fastapi import Request

from gpuaas_contract.common import API_PREFIX, CSRF_HEADER
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import (
    ACCESS_TOKEN_PREFIX,
    LOOPBACK_SESSION_COOKIE,
    PERSONAL_TOKEN_PREFIX,
    SESSION_COOKIE,
    SESSION_PREFIX,
)
from gpuaas_platform.identity.credentials import csrf_matches, secret_hash
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.rules import grants_narrowed, role_grants, role_permissions
from gpuaas_platform.identity.store import tokens as store
from gpuaas_platform.kernel.call import Platform, source_of
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Grant, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.problems import PlatformError

RESOLVER_PART: Final = "authenticator"
_BEARER_PREFIXES: Final = {ACCESS_TOKEN_PREFIX, PERSONAL_TOKEN_PREFIX}
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_TOUCH_EVERY: Final = timedelta(minutes=1)


async def authenticate(platform: Platform, request: Request) -> Caller:
    """The caller of a request; 401 when nobody is known by what it carries."""
    header = request.headers.get("authorization")
    if header is None:
        return await _by_cookie(platform, request)
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer":
        raise _nobody("Send a bearer token.")
    secret = secret.strip()
    prefix = secret.partition("_")[0]
    if prefix in _BEARER_PREFIXES:
        return await _by_secret(platform, secret, prefix)
    resolver = platform.parts.get(f"{RESOLVER_PART}:{prefix}")
    if resolver is None:
        raise _nobody("The token is not known.")
    caller: Caller = await resolver(platform, secret, source_of(request))
    return caller


def session_cookie_of(request: Request) -> str | None:
    """The session a browser sends; over HTTPS only the cookie that no other site could set."""
    if request.scope["scheme"] == "https":
        return request.cookies.get(SESSION_COOKIE)
    return request.cookies.get(SESSION_COOKIE) or request.cookies.get(LOOPBACK_SESSION_COOKIE)


async def _by_cookie(platform: Platform, request: Request) -> Caller:
    secret = session_cookie_of(request)
    if secret is None or secret.partition("_")[0] != SESSION_PREFIX:
        raise _nobody("Sign in first.")
    caller = await _by_secret(platform, secret, SESSION_PREFIX)
    if caller.second_factor_due and not _leads_to_factor(request.scope["path"]):
        raise PlatformError(
            ErrorCode.SECOND_FACTOR_MISSING,
            "Your tenant requires a second factor. Set one up on your account's page first.",
        )
    if request.method not in _SAFE_METHODS and not csrf_matches(
        secret, request.headers.get(CSRF_HEADER, "")
    ):
        raise PlatformError(
            ErrorCode.CSRF_FAILED,
            f"A change made with a session needs its token in the header {CSRF_HEADER}.",
        )
    return caller


def _leads_to_factor(path: str) -> bool:
    """Whether a person who has to set up a second factor needs this route for it."""
    first = path.removeprefix(API_PREFIX).lstrip("/").partition("/")[0]
    return first in {"whoami", "second-factors", "recovery-codes"} or path.endswith(
        "/sessions/current"
    )


async def _by_secret(platform: Platform, secret: str, prefix: str) -> Caller:
    row = await parts_of(platform).tokens.resolve(secret_hash(secret))
    if row is None or not row["alive"] or _KINDS[row["kind"]] != prefix:
        raise _nobody("The token is not known, or it was revoked.")
    now = platform.clock.now()
    ends = [row["expires_at"], row["idle_until"], row["key_expires_at"]]
    if any(end is not None and end <= now for end in ends):
        raise PlatformError(ErrorCode.TOKEN_EXPIRED, "Get a new token, or sign in again.")
    if row["kind"] != "access" and _touch_due(row["last_used_at"], now):
        async with platform.db.connection() as conn:
            await store.token_touch(conn, row["id"], now, _idle_until(platform, row, now))
    if row["factor_due"]:
        return replace(_caller(row), grants=(), second_factor_due=True)
    return _caller(row)


_KINDS: Final = {
    "access": ACCESS_TOKEN_PREFIX,
    "personal": PERSONAL_TOKEN_PREFIX,
    "session": SESSION_PREFIX,
}


def _caller(row: Record) -> Caller:
    grants: list[Grant] = []
    for role_name, permissions, org_id, project_id in row["bindings"] or ():
        place = PLATFORM if org_id is None else Place(org_id, project_id)
        grants += role_grants(role_permissions(role_name, permissions), place)
    held = tuple(grants)
    narrow = None
    if row["narrow_org"] is not None:
        narrow = Place(row["narrow_org"], row["narrow_project"])
    if row["permissions"] is not None or narrow is not None:
        held = grants_narrowed(held, row["permissions"], narrow)
    home = PLATFORM if row["org_id"] is None else Place(row["org_id"], row["project_id"])
    if row["user_id"] is not None:
        return Caller(CallerKind.USER, row["user_id"], home, held, row["id"], narrow)
    return Caller(CallerKind.SERVICE_ACCOUNT, row["service_account_id"], home, held, row["id"])


def _touch_due(last: datetime | None, now: datetime) -> bool:
    return last is None or now - last >= _TOUCH_EVERY


def _idle_until(platform: Platform, row: Record, now: datetime) -> datetime | None:
    if row["kind"] != "session":
        return None
    idle = now + timedelta(seconds=platform.settings.session_idle_seconds)
    expires: datetime = row["expires_at"]
    return min(idle, expires)


def _nobody(detail: str) -> PlatformError:
    return PlatformError(ErrorCode.UNAUTHENTICATED, detail)
