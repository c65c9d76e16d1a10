"""The client: one connection pool to a platform, with identity, correlation and safe repeats.

Every mutation carries an idempotency key, so it can be repeated after a lost answer; every call
carries a correlation id. Answers are the contract's types. An app, the CLI and tests use this;
nothing else of the SDK opens an HTTP connection.
"""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

import httpx2
from pydantic import BaseModel, TypeAdapter, ValidationError

from gpuaas_contract.common import (
    API_PREFIX,
    CORRELATION_HEADER,
    IDEMPOTENCY_HEADER,
    Page,
)
from gpuaas_contract.errors import ErrorCode, Problem
from gpuaas_contract.identity import AccessToken, TokenExchange
from gpuaas_sdk.credentials import Anonymous, Credentials
from gpuaas_sdk.errors import (
    AuthenticationError,
    GpuaasError,
    ProblemError,
    TemporaryError,
    UnreachableError,
    problem_error,
)

T = TypeVar("T")
Param = str | int | bool | list[str] | None
Params = Mapping[str, Param]
_ANSWER_SECONDS = 30.0
_MUTATING = {"POST", "PUT", "PATCH", "DELETE"}


@dataclass(frozen=True)
class Retries:
    """How often and how long a call that may succeed later is repeated."""

    attempts: int = 5
    first_delay: float = 0.2
    longest_delay: float = 10.0

    def delay(self, attempt: int, asked: float | None) -> float:
        """Seconds before the next attempt: what the platform asked for, or growing with jitter."""
        if asked is not None:
            return min(asked, self.longest_delay)
        ceiling = min(self.longest_delay, self.first_delay * 2.0**attempt)
        return ceiling * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


@dataclass(frozen=True)
class Request:
    """One call.

    `wait` is how long the platform may hold it open (long-poll); `accept` names statuses besides
    success whose body is an answer, such as 503 of the readiness check. `content` is sent instead
    of a body, as the bytes it is.
    """

    method: str
    path: str
    body: BaseModel | None = None
    params: Params = field(default_factory=dict)
    if_match: str | None = None
    idempotency_key: str | None = None
    correlation_id: str | None = None
    wait: float = 0.0
    accept: tuple[int, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


class Client:
    """A connection to one platform, as one identity. Use as an async context manager."""

    def __init__(
        self,
        url: str,
        credentials: Credentials | None = None,
        *,
        retries: Retries | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        user_agent: str = "gpuaas-sdk",
    ) -> None:
        self._credentials = credentials or Anonymous()
        self._retries = retries or Retries()
        self._http = httpx2.AsyncClient(
            base_url=url.rstrip("/") + API_PREFIX,
            transport=transport,
            timeout=_ANSWER_SECONDS,
            headers={"User-Agent": user_agent, "Accept": "application/json"},
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(self, path: str, answer: type[T], **params: Param) -> T:
        """Read one thing."""
        return await self.call(Request("GET", path, params=params), answer)

    async def post(self, path: str, body: BaseModel | None, answer: type[T]) -> T:
        """Change something; repeated safely when the answer is lost."""
        return await self.call(Request("POST", path, body), answer)

    async def pages(self, path: str, item: type[T], **params: Param) -> AsyncIterator[T]:
        """Every item of a list, fetched page by page as it is consumed."""
        cursor: str | None = None
        adapter: TypeAdapter[Page[T]] = TypeAdapter(Page[item])  # type: ignore[valid-type]  # built at run time
        while True:
            request = Request("GET", path, params={**params, "cursor": cursor})
            page = adapter.validate_json((await self.send(request)).content)
            for found in page.items:
                yield found
            cursor = page.next_cursor
            if cursor is None:
                return

    async def call(self, request: Request, answer: type[T]) -> T:
        """Make a call and read its answer as one of the contract's types."""
        response = await self.send(request)
        try:
            return TypeAdapter(answer).validate_json(response.content)
        except ValidationError as error:
            raise GpuaasError(
                f"{request.method} {request.path} answered something that is not"
                f" {getattr(answer, '__name__', answer)}: {error.error_count()} differences;"
                " this SDK may be older than the platform"
            ) from error

    async def send(self, request: Request) -> httpx2.Response:
        """Make a call, renewing the token and repeating what may succeed later."""
        headers = _headers(request)
        attempt = 0
        renewed = False
        while True:
            token = await self._credentials.token(self._exchange)
            try:
                return await self._once(request, headers, token)
            except AuthenticationError:
                if renewed or token is None or not self._credentials.expire(token):
                    raise
                renewed = True
            except (UnreachableError, TemporaryError) as error:
                attempt += 1
                if attempt >= self._retries.attempts:
                    raise
                asked = error.retry_after if isinstance(error, ProblemError) else None
                await asyncio.sleep(self._retries.delay(attempt, asked))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[httpx2.Response]:
        """Open an answer that goes on; the caller reads it. Not repeated by itself."""
        token = await self._credentials.token(self._exchange)
        headers = _headers(request) | _authorization(token)
        try:
            async with self._http.stream(
                request.method,
                request.path,
                params=_present(request.params),
                headers=headers,
                timeout=httpx2.Timeout(_ANSWER_SECONDS, read=None),
            ) as response:
                if response.is_error:
                    await response.aread()
                    raise _failure(response)
                yield response
        except httpx2.TransportError as error:
            raise UnreachableError(str(self._http.base_url), _reason(error)) from error

    async def _exchange(self, exchange: TokenExchange) -> AccessToken:
        request = Request("POST", "/tokens", exchange)
        response = await self._once(request, _headers(request), None)
        return AccessToken.model_validate_json(response.content)

    async def _once(
        self, request: Request, headers: dict[str, str], token: str | None
    ) -> httpx2.Response:
        content: str | bytes | None = request.content
        if request.body is not None:
            content = request.body.model_dump_json(exclude_unset=True)
        try:
            response = await self._http.request(
                request.method,
                request.path,
                content=content,
                params=_present(request.params),
                headers=headers | _authorization(token),
                timeout=_ANSWER_SECONDS + request.wait,
            )
        except httpx2.TransportError as error:
            raise UnreachableError(str(self._http.base_url), _reason(error)) from error
        if response.is_error and response.status_code not in request.accept:
            raise _failure(response)
        return response


def _headers(request: Request) -> dict[str, str]:
    headers = {CORRELATION_HEADER: request.correlation_id or f"cor_{secrets.token_hex(12)}"}
    if request.method in _MUTATING:
        headers[IDEMPOTENCY_HEADER] = request.idempotency_key or secrets.token_hex(16)
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    elif request.content is not None:
        headers["Content-Type"] = "application/octet-stream"
    if request.if_match is not None:
        headers["If-Match"] = request.if_match
    return headers | dict(request.headers)


def _authorization(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _present(params: Params) -> dict[str, str | int | bool | list[str]]:
    return {name: value for name, value in params.items() if value is not None}


def _failure(response: httpx2.Response) -> ProblemError:
    """The platform's problem, or one made up for an answer that something between us gave."""
    asked = response.headers.get("Retry-After", "")
    retry_after = float(asked) if asked.isdigit() else None
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        unavailable = response.status_code >= 500
        problem = Problem(
            title=response.reason_phrase or "Error",
            status=response.status_code,
            detail=f"The answer {response.status_code} did not come from the platform itself.",
            code=ErrorCode.UNAVAILABLE if unavailable else ErrorCode.INVALID_REQUEST,
            correlation_id=response.headers.get(CORRELATION_HEADER, "unknown"),
            retryable=unavailable,
        )
    return problem_error(problem, retry_after)


def _reason(error: httpx2.TransportError) -> str:
    return str(error) or type(error).__name__
