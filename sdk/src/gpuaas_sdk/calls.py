"""The rules of every call: identity, correlation, safe repeats, and how it fails.

Every mutation carries an idempotency key, so it can be repeated after a lost answer; every call
carries a correlation id. Two clients carry calls by these rules: `Client`, for programs that go on,
and `BriefClient`, for those that make a few calls and end. Neither has rules of its own.
"""

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from gpuaas_contract.headers import CORRELATION_HEADER, IDEMPOTENCY_HEADER
from gpuaas_sdk.credentials import Anonymous, Credentials, Issued
from gpuaas_sdk.errors import (
    AuthenticationError,
    GpuaasError,
    ProblemError,
    TemporaryError,
    UnreachableError,
    problem_error,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

ANSWER_SECONDS = 30.0
Plain = dict[str, Any] | list[Any]
Param = str | int | bool | list[str] | None
Params = Mapping[str, Param]
# What every problem document has.
_PROBLEM: Mapping[str, type] = {
    "title": str,
    "status": int,
    "detail": str,
    "code": str,
    "correlation_id": str,
    "retryable": bool,
}
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
        return ceiling * (0.5 + os.urandom(1)[0] / 510)  # half of it to all of it: spreads load


@dataclass(frozen=True)
class Request:
    """One call.

    `body` is one of the contract's types, or plain JSON. `wait` is how long the platform may hold
    the call open (long-poll); `accept` names statuses besides success whose body is an answer, such
    as 503 of the readiness check. `content` is sent instead of a body, as the bytes it is.
    """

    method: str
    path: str
    body: "BaseModel | Plain | None" = None
    params: Params = field(default_factory=dict)
    if_match: str | None = None
    idempotency_key: str | None = None
    correlation_id: str | None = None
    wait: float = 0.0
    accept: tuple[int, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None

    @property
    def sent(self) -> bytes:
        """What goes over the wire."""
        if self.body is None:
            return self.content or b""
        if isinstance(self.body, dict | list):
            return json.dumps(self.body, ensure_ascii=False).encode()
        return self.body.model_dump_json(exclude_unset=True).encode()

    @property
    def given(self) -> dict[str, str | int | bool | list[str]]:
        """The parameters that have a value."""
        return {name: value for name, value in self.params.items() if value is not None}


class Answered(Protocol):
    """What came back, whole."""

    @property
    def status_code(self) -> int:
        """As HTTP has it."""
        ...

    @property
    def reason_phrase(self) -> str:
        """The status in words."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By name, in any case."""
        ...

    @property
    def content(self) -> bytes:
        """The body."""
        ...

    def json(self) -> Any:  # noqa: ANN401 - JSON
        """The body, read as JSON."""
        ...


A = TypeVar("A", bound=Answered)


class Calls(ABC, Generic[A]):
    """Calls to one platform, as one identity. Use as an async context manager."""

    def __init__(self, credentials: Credentials | None, retries: Retries | None) -> None:
        self._credentials = credentials or Anonymous()
        self._retries = retries or Retries()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    @abstractmethod
    async def _carried(self, request: Request, headers: dict[str, str]) -> A:
        """What was answered, of any status; UnreachableError when nothing was."""

    async def send(self, request: Request) -> A:
        """Make a call, renewing the token and repeating what may succeed later."""
        headers = call_headers(request)
        attempt = 0
        renewed = False
        while True:
            token = await self._credentials.token(self._exchange)
            try:
                return await self._once(request, headers | authorization(token))
            except AuthenticationError:
                if renewed or token is None or not self._credentials.expire(token):
                    raise
                renewed = True
            except (UnreachableError, TemporaryError) as error:
                if isinstance(error, UnreachableError):
                    error.correlation_id = headers[CORRELATION_HEADER]
                attempt += 1
                if attempt >= self._retries.attempts:
                    raise
                asked = error.retry_after if isinstance(error, ProblemError) else None
                await asyncio.sleep(self._retries.delay(attempt, asked))

    async def _exchange(self, key: str) -> Issued:
        request = Request("POST", "/tokens", {"key": key})
        issued = (await self._once(request, call_headers(request))).json()
        return Issued(issued["access_token"], issued["expires_in"])

    async def _once(self, request: Request, headers: dict[str, str]) -> A:
        _sendable(headers)
        response = await self._carried(request, headers)
        if response.status_code >= 400 and response.status_code not in request.accept:
            raise refusal(response)
        return response


def call_headers(request: Request) -> dict[str, str]:
    """What a call carries besides its identity; the same each time it is repeated."""
    headers = {CORRELATION_HEADER: request.correlation_id or f"cor_{os.urandom(12).hex()}"}
    if request.method in _MUTATING:
        headers[IDEMPOTENCY_HEADER] = request.idempotency_key or os.urandom(16).hex()
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    elif request.content is not None:
        headers["Content-Type"] = "application/octet-stream"
    if request.if_match is not None:
        headers["If-Match"] = request.if_match
    return headers | dict(request.headers)


def _sendable(headers: Mapping[str, str]) -> None:
    """Refuse what no header can carry, without saying it: it may be a secret."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise GpuaasError(f"the header {name} cannot carry all characters it was given")


def refusal(response: Answered) -> ProblemError:
    """The platform's problem, or one made up for an answer that something between us gave."""
    asked = response.headers.get("retry-after", "")
    said = _problem(response.content)
    if said is None:
        unavailable = response.status_code >= 500
        said = {
            "title": response.reason_phrase or "Error",
            "status": response.status_code,
            "detail": f"The answer {response.status_code} did not come from the platform itself.",
            "code": "unavailable" if unavailable else "invalid_request",
            "correlation_id": response.headers.get(CORRELATION_HEADER.lower(), "unknown"),
            "retryable": unavailable,
        }
    return problem_error(said, float(asked) if asked.isdigit() else None)


def _problem(content: bytes) -> dict[str, Any] | None:
    """A problem document; None for anything else."""
    try:
        said = json.loads(content)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    return (
        said if all(isinstance(said.get(name), kind) for name, kind in _PROBLEM.items()) else None
    )


def authorization(token: str | None) -> dict[str, str]:
    """Who calls."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}
