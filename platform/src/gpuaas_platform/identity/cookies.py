"""The cookies of a browser session, set and cleared by routes.

Over HTTPS the session cookie has the `__Host-` name no other site or subdomain can set. On plain
HTTP from this machine itself it has another name and no Secure flag; plain HTTP from elsewhere is
refused, because the password has travelled in the clear.
"""

from fastapi import Request, Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import (
    CSRF_COOKIE,
    DEVICE_COOKIE,
    LOOPBACK_DEVICE_COOKIE,
    LOOPBACK_OIDC_COOKIE,
    LOOPBACK_PENDING_COOKIE,
    LOOPBACK_SESSION_COOKIE,
    OIDC_COOKIE,
    PENDING_COOKIE,
    SESSION_COOKIE,
)
from gpuaas_platform.identity.credentials import csrf_token
from gpuaas_platform.identity.known_devices import DEVICE_SECONDS
from gpuaas_platform.identity.passkeys import Site, site_of
from gpuaas_platform.identity.sessions import SessionBegun
from gpuaas_platform.kernel.call import Platform, source_of
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.public_url import public_base

_LOOPBACK = ("127.", "::1", "local", "testclient")


def browser_secure(platform: Platform, request: Request) -> bool:
    """Whether the browser speaks HTTPS; refuses plain HTTP from another machine."""
    public = platform.settings.public_url
    if request.scope["scheme"] == "https" or (public is not None and public.startswith("https:")):
        return True
    if not source_of(request).startswith(_LOOPBACK):
        raise PlatformError(
            ErrorCode.CONFLICT,
            "Signing in from another machine needs HTTPS: put a proxy before the platform and set"
            " GPUAAS_PUBLIC_URL.",
        )
    return False


def same_site_require(request: Request) -> None:
    """Refuse a sign-in that another site's page sends: it would sign people in as somebody else."""
    if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        raise PlatformError(ErrorCode.CSRF_FAILED, "Sign in from the platform's own page.")


def session_answer(platform: Platform, begun: Response, *, secure: bool) -> Response:
    """Move the session's secret from the rules' answer into the browser's cookies."""
    told = SessionBegun.model_validate_json(bytes(begun.body))
    headers = {
        name: value
        for name, value in begun.headers.items()
        if name not in {"content-length", "content-type"}
    }
    answer = Response(
        told.session.model_dump_json(), begun.status_code, headers, "application/json"
    )
    session_cookies_set(answer, told.secret, platform.settings.session_seconds, secure=secure)
    if told.device is not None:
        answer.set_cookie(
            _device_name(secure=secure), told.device, max_age=DEVICE_SECONDS, path="/",
            secure=secure, httponly=True, samesite="lax",
        )  # fmt: skip
    return answer


def device_cookie_of(request: Request, *, secure: bool) -> str | None:
    """What this browser holds since somebody signed in in it; it stays when they sign out."""
    return request.cookies.get(_device_name(secure=secure))


def _device_name(*, secure: bool) -> str:
    return DEVICE_COOKIE if secure else LOOPBACK_DEVICE_COOKIE


def session_cookies_set(response: Response, secret: str, seconds: int, *, secure: bool) -> None:
    """Give the browser its session, and its scripts the token they send along."""
    name = SESSION_COOKIE if secure else LOOPBACK_SESSION_COOKIE
    response.set_cookie(
        name, secret, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax"
    )
    response.set_cookie(
        CSRF_COOKIE, csrf_token(secret), max_age=seconds, path="/", secure=secure, samesite="lax"
    )


def flow_cookie_set(response: Response, value: str, seconds: int, *, secure: bool) -> None:
    """Let the browser hold the sign-in it began; no seconds take it away again."""
    response.set_cookie(
        _flow_name(secure=secure), value, max_age=seconds, path="/", secure=secure,
        httponly=True, samesite="lax",
    )  # fmt: skip


def flow_cookie_of(request: Request, *, secure: bool) -> str | None:
    """The sign-in this browser began."""
    return request.cookies.get(_flow_name(secure=secure))


def pending_cookie_set(response: Response, secret: str, seconds: int, *, secure: bool) -> None:
    """Let the browser hold the sign-in that waits for the person; no seconds take it away."""
    response.set_cookie(
        _pending_name(secure=secure), secret, max_age=seconds, path="/", secure=secure,
        httponly=True, samesite="lax",
    )  # fmt: skip


def pending_cookie_of(request: Request, *, secure: bool) -> str | None:
    """The sign-in that waits for the person at this browser."""
    return request.cookies.get(_pending_name(secure=secure))


def _pending_name(*, secure: bool) -> str:
    return PENDING_COOKIE if secure else LOOPBACK_PENDING_COOKIE


def _flow_name(*, secure: bool) -> str:
    return OIDC_COOKIE if secure else LOOPBACK_OIDC_COOKIE


def session_cookies_clear(response: Response, *, secure: bool) -> None:
    """Take the session away again."""
    name = SESSION_COOKIE if secure else LOOPBACK_SESSION_COOKIE
    response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="lax")
    response.delete_cookie(CSRF_COOKIE, path="/", secure=secure, samesite="lax")


def site_visited(platform: Platform, request: Request) -> Site:
    """The site passkeys are bound to: the public address, or the one the browser is at.

    A false Host header gains nothing here: a passkey signs only for the site it was made at, and
    the browser, not the caller, says which that is.
    """
    own = f"{request.url.scheme}://{request.url.netloc}"
    return site_of(public_base(platform.settings) or own)
