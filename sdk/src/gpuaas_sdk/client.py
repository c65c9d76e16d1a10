"""The client: one connection pool to a platform, answers as the contract's types, and streams.

An app, the CLI and tests use this. The rules of a call are in `calls.py`; answers are read by
`answers.py`. Nothing else of the SDK but `brief.py` opens an HTTP connection.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import httpx2

from gpuaas_contract.headers import API_PREFIX
from gpuaas_sdk import later
from gpuaas_sdk.calls import (
    ANSWER_SECONDS,
    Calls,
    Param,
    Params,
    Plain,
    Request,
    Retries,
    authorization,
    call_headers,
    refusal,
)
from gpuaas_sdk.credentials import Credentials
from gpuaas_sdk.errors import UnreachableError

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Client", "Param", "Params", "Request", "Retries"]

T = TypeVar("T")


class Client(Calls[httpx2.Response]):
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
        super().__init__(credentials, retries)
        self._http = httpx2.AsyncClient(
            base_url=url.rstrip("/") + API_PREFIX,
            transport=transport,
            timeout=ANSWER_SECONDS,
            headers={"User-Agent": user_agent, "Accept": "application/json"},
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(self, path: str, answer: type[T], **params: Param) -> T:
        """Read one thing."""
        return await self.call(Request("GET", path, params=params), answer)

    async def post(self, path: str, body: "BaseModel | Plain | None", answer: type[T]) -> T:
        """Change something; repeated safely when the answer is lost."""
        return await self.call(Request("POST", path, body), answer)

    async def pages(self, path: str, item: type[T], **params: Param) -> AsyncIterator[T]:
        """Every item of a list, fetched page by page as it is consumed."""
        cursor: str | None = None
        while True:
            request = Request("GET", path, params={**params, "cursor": cursor})
            page = later.answers.page_read((await self.send(request)).content, item)
            for found in page.items:
                yield found
            cursor = page.next_cursor
            if cursor is None:
                return

    async def call(self, request: Request, answer: type[T]) -> T:
        """Make a call and read its answer as one of the contract's types."""
        response = await self.send(request)
        asked = f"{request.method} {request.path}"
        return later.answers.answer_read(response.content, answer, asked)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[httpx2.Response]:
        """Open an answer that goes on; the caller reads it. Not repeated by itself."""
        token = await self._credentials.token(self._exchange)
        try:
            async with self._http.stream(
                request.method,
                request.path,
                params=request.given,
                headers=call_headers(request) | authorization(token),
                timeout=httpx2.Timeout(ANSWER_SECONDS, read=None),
            ) as response:
                if response.is_error:
                    await response.aread()
                    raise refusal(response)
                yield response
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error

    async def _carried(self, request: Request, headers: dict[str, str]) -> httpx2.Response:
        try:
            return await self._http.request(
                request.method,
                request.path,
                content=request.sent or None,
                params=request.given,
                headers=headers,
                timeout=ANSWER_SECONDS + request.wait,
            )
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: httpx2.TransportError) -> UnreachableError:
        return UnreachableError(str(self._http.base_url), str(error) or type(error).__name__)
