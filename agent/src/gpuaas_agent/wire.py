"""HTTP to the platform with the standard library. Blocking: asynchronous callers use a thread.

One connection per request, except that a connection is kept for as long as it serves. Over HTTPS
the platform's certificate is verified, by the pinned authority where there is one. It knows nothing
of what is said.
"""

import contextlib
import http.client
import json
import random
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gpuaas_agent import __version__

API = "/api/v1"
CONNECT_SECONDS = 10.0
ANSWER_LIMIT = 8 * 1024 * 1024
CHUNK = 256 * 1024


class Unreachable(Exception):
    """The platform did not answer; nothing is known of whether it heard."""


class Refused(Exception):
    """The platform said no, with a reason."""

    def __init__(self, status: int, code: str, detail: str, context: dict[str, str]) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.context = context


@dataclass(frozen=True)
class Ask:
    """One request."""

    path: str
    body: dict[str, Any] | None = None
    token: str | None = None
    method: str = "POST"
    seconds: float = 30.0
    correlation_id: str = ""
    idempotency_key: str = ""


class Wire:
    """A way to one platform; connections are one per thread."""

    def __init__(self, url: str, authority: Path | None, *, verify: bool = True) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or parts.hostname is None:
            raise ValueError(f"{url} is no address of a platform")
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._context = _context(authority, verify=verify) if parts.scheme == "https" else None
        self._mine = threading.local()

    def ask(self, wanted: Ask) -> Any:  # noqa: ANN401 - whatever JSON the platform answers
        """The answer; `Unreachable` when there is none, `Refused` when it is no."""
        status, data = self._exchanged(wanted)
        if status >= 500:
            raise Unreachable(f"the platform answered {status}")
        document = _parsed(data)
        if status < 300:
            return document
        raise Refused(
            status,
            str(document.get("code", "")),
            str(document.get("detail", f"the platform answered {status}")),
            dict(document.get("context", {})),
        )

    def fetch(self, path: str, start: int, take: Callable[[bytes], None]) -> int:
        """Fetch a file from an offset on, piece by piece; returns the offset it really began at."""
        connection = self._opened(60.0)
        try:
            headers = {"User-Agent": _AGENT} | ({"Range": f"bytes={start}-"} if start else {})
            answer = _got(connection, self._prefix + path, headers)
            if answer.status not in {200, 206}:
                detail = _parsed(_read(answer, ANSWER_LIMIT)).get("detail", "")
                raise Refused(answer.status, "", str(detail or f"answered {answer.status}"), {})
            begin = start if answer.status == 206 else 0
            if begin != start:
                return begin  # it would begin anew: the caller decides
            while piece := _read(answer, CHUNK):
                take(piece)  # what fails here is the caller's own, not the way's
            return begin
        finally:
            connection.close()

    def bytes_get(self, path: str) -> bytes:
        """A small file, whole."""
        parts: list[bytes] = []
        self.fetch(path, 0, parts.append)
        return b"".join(parts)

    def _exchanged(self, wanted: Ask) -> tuple[int, bytes]:
        body = None if wanted.body is None else json.dumps(wanted.body).encode()
        headers = {"User-Agent": _AGENT, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if wanted.token is not None:
            headers["Authorization"] = f"Bearer {wanted.token}"
        if wanted.correlation_id:
            headers["X-Correlation-ID"] = wanted.correlation_id
        if wanted.idempotency_key:
            headers["Idempotency-Key"] = wanted.idempotency_key
        kept: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        connection = kept or self._opened(wanted.seconds)
        try:
            if connection.sock is not None:
                connection.sock.settimeout(wanted.seconds)
            connection.request(wanted.method, self._prefix + API + wanted.path, body, headers)
            answer = connection.getresponse()
            data = answer.read(ANSWER_LIMIT)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self._mine.connection = None
            if kept is not None and isinstance(error, _STALE):
                return self._exchanged(wanted)  # it had been closed while nobody asked
            raise Unreachable(str(error) or type(error).__name__) from error
        self._mine.connection = None if answer.will_close else connection
        return answer.status, data

    def _opened(self, seconds: float) -> http.client.HTTPConnection:
        if self._context is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)
        else:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=CONNECT_SECONDS, context=self._context
            )
        try:
            connection.connect()
            connection.sock.settimeout(seconds)
        except OSError as error:
            connection.close()
            raise Unreachable(str(error) or type(error).__name__) from error
        return connection


_AGENT = f"gpuaas-agent/{__version__}"
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


def _got(
    connection: http.client.HTTPConnection, path: str, headers: dict[str, str]
) -> http.client.HTTPResponse:
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(str(error) or type(error).__name__) from error


def _read(answer: http.client.HTTPResponse, most: int) -> bytes:
    try:
        return answer.read(most)
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(str(error) or type(error).__name__) from error


def _context(authority: Path | None, *, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=None if authority is None else str(authority))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:  # what is fetched this way is known by its digest
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _parsed(data: bytes) -> Any:  # noqa: ANN401 - JSON
    with contextlib.suppress(ValueError):
        document = json.loads(data)
        if isinstance(document, dict):
            return document
    return {}


def pause_after(attempt: int) -> float:
    """Seconds before the next try: soon at first, at most half a minute, never all at once."""
    return min(0.5 * 2.0 ** min(attempt, 10), 30.0) * random.uniform(0.7, 1.3)  # noqa: S311 - spreads load, guards nothing
