"""One request as the rooms see it: who calls, under which correlation, with which key.

Routes take `CallDep` (an authenticated caller) or `OpenCallDep` (nobody yet: sign-in, health). The
identity room supplies the authenticator; the kernel only knows that there is one.
"""

import hmac
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from gpuaas_contract.common import IDEMPOTENCY_HEADER
from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.caller import PLATFORM, SYSTEM, Caller, CallerKind
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.database import Database
from gpuaas_platform.kernel.limits import OpenLimit, RateLimiter
from gpuaas_platform.kernel.masking import shapes_masked
from gpuaas_platform.kernel.problems import PlatformError, invalid
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.signals import Signals

NOBODY = Caller(CallerKind.SYSTEM, "anonymous", PLATFORM, ())
TOKEN_SCHEME: Final = "token"  # noqa: S105 - a name in the document
_KEY_MAX = 255
_REQUESTS_MAX = 2048  # of a tenant, where no settings say it


@dataclass(frozen=True)
class Platform:
    """What a running platform has; one per process, made by `http/app.py`.

    `parts` holds what a room keeps for the life of the process (its signer, its stream), by name.
    """

    settings: Settings
    db: Database
    clock: Clock
    signals: Signals
    limiter: RateLimiter
    authenticate: Callable[["Platform", Request], Awaitable[Caller]]
    tenants: OpenLimit = field(default_factory=lambda: OpenLimit(_REQUESTS_MAX))
    parts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    platform: Platform
    caller: Caller
    correlation_id: str
    traceparent: str
    method: str
    path: str
    source: str
    idempotency_key: str | None
    request_hash: bytes
    if_match: str | None
    started: float = field(default_factory=time.perf_counter)  # when the request came

    @property
    def db(self) -> Database:
        """The platform's database."""
        return self.platform.db


async def authenticated_call(request: Request) -> Call:
    """A call whose caller is known and within its rate."""
    platform: Platform = request.app.state.platform
    caller = await platform.authenticate(platform, request)
    _limit(platform, caller.id)
    _tenant_enter(request, platform, caller)
    request.state.call = call = await _call(request, platform, caller)
    return call


async def streamed_call(request: Request) -> Call:
    """A call whose body is streamed by its route: repeating it is harmless, so no key is kept."""
    platform: Platform = request.app.state.platform
    caller = await platform.authenticate(platform, request)
    _limit(platform, caller.id)
    _tenant_enter(request, platform, caller)
    return _call_made(request, platform, caller, None, b"")


async def open_call(request: Request) -> Call:
    """A call by nobody in particular, limited by its address."""
    platform: Platform = request.app.state.platform
    _limit(platform, f"address:{source_of(request)}")
    return await _call(request, platform, NOBODY)


def system_call(platform: Platform, path: str, correlation_id: str) -> Call:
    """A mutation the platform makes by itself (a loop's turn): journalled like any other."""
    return Call(
        platform=platform,
        caller=SYSTEM,
        correlation_id=correlation_id,
        traceparent="",
        method="SYSTEM",
        path=path,
        source="local",
        idempotency_key=None,
        request_hash=b"",
        if_match=None,
    )


class _KnownCaller(SecurityBase):
    """`authenticated_call`, in the form in which the OpenAPI document tells of it too."""

    scheme_name = TOKEN_SCHEME
    model = HTTPBearer(
        description="A personal token, or the token a service account's key was exchanged for."
    )

    async def __call__(self, request: Request) -> Call:
        return await authenticated_call(request)


class _KnownStreaming(_KnownCaller):
    """`streamed_call`, told in the same way."""

    async def __call__(self, request: Request) -> Call:
        return await streamed_call(request)


CallDep = Annotated[Call, Depends(_KnownCaller())]
StreamedCallDep = Annotated[Call, Depends(_KnownStreaming())]
OpenCallDep = Annotated[Call, Depends(open_call)]


def source_of(request: Request) -> str:
    """The address the request came from."""
    return request.client.host if request.client is not None else "local"


def _limit(platform: Platform, who: str) -> None:
    wait = platform.limiter.wait_for(who, time.monotonic())
    if wait > 0:
        raise PlatformError(
            ErrorCode.RATE_LIMITED, "Too many requests; slow down.", retry_after=wait
        )


def _tenant_enter(request: Request, platform: Platform, caller: Caller) -> None:
    """Count a tenant's request until its answer is over; refuse one too many."""
    org_id = caller.home.org_id
    if org_id is None:
        return
    if not platform.tenants.enter(org_id):
        raise PlatformError(
            ErrorCode.RATE_LIMITED,
            f"A tenant may have {platform.tenants.most} requests open at once.",
            retry_after=5,
        )
    request.state.at_end.append(partial(platform.tenants.leave, org_id))


async def _call(request: Request, platform: Platform, caller: Caller) -> Call:
    key = request.headers.get(IDEMPOTENCY_HEADER)
    if key is not None and not (key.isascii() and key.isprintable() and 0 < len(key) <= _KEY_MAX):
        raise invalid(
            f"/headers/{IDEMPOTENCY_HEADER}", f"1 to {_KEY_MAX} printable ASCII characters"
        )
    digest = b""
    if key is not None:
        query = request.scope["query_string"].decode("latin-1")
        target = f"{request.method} {request.scope['path']}?{query}\n".encode()
        # Keyed by the caller's key, which is not stored: a body may hold a password.
        digest = hmac.digest(key.encode(), target + await request.body(), "sha256")
    return _call_made(request, platform, caller, key, digest)


def _call_made(
    request: Request, platform: Platform, caller: Caller, key: str | None, digest: bytes
) -> Call:
    return Call(
        platform=platform,
        caller=caller,
        correlation_id=request.state.correlation_id,
        traceparent=request.state.traceparent,
        method=request.method,
        path=shapes_masked(request.scope["path"]),  # a secret sent as an id is kept nowhere
        source=source_of(request),
        idempotency_key=key,
        request_hash=digest,
        if_match=request.headers.get("If-Match"),
        started=request.state.started,
    )
