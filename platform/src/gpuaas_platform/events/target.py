"""The connection to a webhook's target, within the guard of `kernel.outbound`.

Redirects are not followed; an answer's body is of no interest.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpcore2

from gpuaas_platform.kernel.outbound import Guard, GuardedBackend
from gpuaas_platform.kernel.tls import client_context

_DRAIN_BYTES = 16_384


@dataclass(frozen=True)
class Reply:
    """What a target answered."""

    status: int
    retry_after: float | None


class Sender:
    """Posts to targets within a guard; keeps connections for the next event."""

    def __init__(self, guard: Guard, *, timeout: float, connections: int) -> None:
        self._timeout = timeout
        self._pools = {
            scheme: httpcore2.AsyncConnectionPool(
                ssl_context=client_context(),
                max_connections=connections,
                max_keepalive_connections=connections,
                keepalive_expiry=30.0,
                network_backend=GuardedBackend(guard, encrypted=scheme == "https"),
            )
            for scheme in ("http", "https")
        }

    async def close(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            await pool.aclose()

    async def post(self, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> Reply:
        """Post a body; the status of the answer. Raises when there is none in time."""
        pool = self._pools[urlsplit(url).scheme]
        async with (
            asyncio.timeout(self._timeout),
            pool.stream("POST", url, headers=list(headers), content=body) as response,
        ):
            reply = Reply(response.status, _retry_after(response.headers))
            await _drain(response)
            return reply


async def _drain(response: httpcore2.Response) -> None:
    """Take a short body off the wire, unread, so that the connection can be used again."""
    size = 0
    async for chunk in response.aiter_stream():
        size += len(chunk)
        if size > _DRAIN_BYTES:
            return


def _retry_after(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    for name, value in headers:
        if name.lower() == b"retry-after" and value.isdigit():
            return float(value)
    return None
