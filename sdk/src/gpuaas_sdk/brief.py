"""A light client for programs that make a few calls and end, such as a command line.

It carries the same calls by the same rules as `Client`, over asyncio's own streams with h11 reading
and writing HTTP/1.1, and is loaded in a fifth of the time. Answers are plain and whole: whoever
wants types, streams or a proxy takes `Client`.
"""

import asyncio
import json
import os
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

import h11

from gpuaas_contract.headers import API_PREFIX
from gpuaas_sdk.calls import ANSWER_SECONDS, Calls, Request, Retries
from gpuaas_sdk.credentials import Credentials
from gpuaas_sdk.errors import UnreachableError

_CHUNK = 65536
_PROXIES = {"http_proxy", "https_proxy", "all_proxy"}


def brief_will_do(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether nothing is asked for that only `Client` has: a proxy, or a system's trust store."""
    return sys.platform == "linux" and not _PROXIES & {name.lower() for name in environ}


@dataclass(frozen=True)
class Answer:
    """What came back, whole. Header names are in lower case."""

    status_code: int
    reason_phrase: str
    headers: Mapping[str, str]
    content: bytes = field(repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The body, read as text."""
        return self.content.decode(errors="replace")

    def json(self) -> Any:  # noqa: ANN401 - JSON
        """The body, read as JSON."""
        return json.loads(self.content)


class BriefClient(Calls[Answer]):
    """Calls to one platform, as one identity, without types. Use as an async context manager."""

    def __init__(
        self,
        url: str,
        credentials: Credentials | None = None,
        *,
        retries: Retries | None = None,
        user_agent: str = "gpuaas-sdk",
    ) -> None:
        super().__init__(credentials, retries)
        self._url = url.rstrip("/") + API_PREFIX
        self._where = urlsplit(self._url)
        self._always = {
            "Host": self._where.netloc.rpartition("@")[2],
            "User-Agent": user_agent,
            "Accept": "application/json",
        }
        self._trust = _trust() if self._where.scheme == "https" else None
        self._idle: list[_Line] = []

    async def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().close()

    async def _carried(self, request: Request, headers: dict[str, str]) -> Answer:
        line: _Line | None = None
        try:
            line = await self._line()
            head = self._head(request, headers)
            answer = await line.exchange(head, request.sent, ANSWER_SECONDS + request.wait)
        except (OSError, h11.ProtocolError) as error:
            raise UnreachableError(self._url, _reason(error)) from error
        finally:
            if line is not None:
                self._keep(line)
        return answer

    async def _line(self) -> "_Line":
        """A connection nobody uses now: one that is still open, or a new one."""
        while self._idle:
            line = self._idle.pop()
            if not line.reader.at_eof():
                return line
            line.close()
        return await _connected(self._where, self._trust)

    def _keep(self, line: "_Line") -> None:
        """Use it again only when both sides are done with what was said."""
        if line.reusable():
            self._idle.append(line)
        else:
            line.close()

    def _head(self, request: Request, headers: dict[str, str]) -> h11.Request:
        target = self._where.path + request.path
        if query := urlencode(_texts(request.given), doseq=True):
            target += ("&" if "?" in target else "?") + query
        named = self._always | headers
        if request.method != "GET":
            named["Content-Length"] = str(len(request.sent))
        return h11.Request(method=request.method, target=target, headers=list(named.items()))


@dataclass
class _Line:
    """One connection, and where the talk on it stands."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    talk: h11.Connection = field(default_factory=lambda: h11.Connection(h11.CLIENT))

    async def exchange(self, head: h11.Request, content: bytes, patience: float) -> Answer:
        """Say one thing and hear the whole answer; `patience` is for each silence."""
        for said in (head, h11.Data(data=content), h11.EndOfMessage()):
            self.writer.write(self.talk.send(said) or b"")
        await self.writer.drain()
        answer: h11.Response | None = None
        parts: list[bytes] = []
        while True:
            event = self.talk.next_event()
            if event is h11.NEED_DATA:
                async with asyncio.timeout(patience):
                    self.talk.receive_data(await self.reader.read(_CHUNK))
            elif isinstance(event, h11.Response):
                answer = event
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and answer is not None:
                return _answer(answer, b"".join(parts))
            elif not isinstance(event, h11.InformationalResponse):
                raise ConnectionError("the connection was closed before the answer")

    def reusable(self) -> bool:
        """Whether the next thing can be said here; then it is ready for it."""
        if self.talk.our_state is not h11.DONE or self.talk.their_state is not h11.DONE:
            return False
        self.talk.start_next_cycle()
        return True

    def close(self) -> None:
        """Hang up; what was to be heard has been heard."""
        self.writer.transport.abort()


async def _connected(where: SplitResult, trust: ssl.SSLContext | None) -> _Line:
    port = where.port or (443 if trust else 80)
    async with asyncio.timeout(ANSWER_SECONDS):
        streams = await asyncio.open_connection(where.hostname, port, ssl=trust)
    return _Line(*streams)


def _reason(error: Exception) -> str:
    """Why nobody answered, in the words of the system."""
    if isinstance(error, TimeoutError) and not error.args:
        return "nothing came in time"
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)  # asyncio puts the address instead, which is known
    return str(error) or type(error).__name__


def _trust() -> ssl.SSLContext:
    """The host's authorities, or those SSL_CERT_FILE and SSL_CERT_DIR name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_default_verify_paths()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _texts(params: Mapping[str, str | int | bool | list[str]]) -> dict[str, Any]:
    """Parameters as JSON would write them: true, not True."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in params.items()
    }


def _answer(said: h11.Response, content: bytes) -> Answer:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in said.headers}
    cookies = dict(
        value.decode("latin-1").partition(";")[0].strip().partition("=")[::2]
        for name, value in said.headers
        if name == b"set-cookie"
    )
    return Answer(said.status_code, said.reason.decode("latin-1"), headers, content, cookies)
