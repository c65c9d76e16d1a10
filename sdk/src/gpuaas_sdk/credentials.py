"""How a client proves who it is. A credential gives a bearer token and renews it in time.

Used by the client alone. Secrets never appear in a representation or an error.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

_RENEW_AT = 0.8


@dataclass(frozen=True)
class Issued:
    """What the platform gives for a key: a token, and how many seconds it lives."""

    token: str = field(repr=False)
    seconds: float


Exchange = Callable[[str], Awaitable[Issued]]


class Credentials(Protocol):
    """Gives the token of the next request."""

    async def token(self, exchange: Exchange) -> str | None:
        """A token that is valid now; None for an anonymous call."""
        ...

    def expire(self, token: str) -> bool:
        """The platform refused this token; whether there can be a newer one."""
        ...


class Anonymous:
    """Nobody: enough for health and version."""

    async def token(self, _: Exchange) -> str | None:
        """No token."""
        return None

    def expire(self, _: str) -> bool:
        """There is no newer one."""
        return False


class BearerToken:
    """A token one has already, such as a personal token."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self, _: Exchange) -> str | None:
        """The token."""
        return self._token

    def expire(self, _: str) -> bool:
        """There is no newer one."""
        return False


class ServiceAccountKey:
    """A service account's key: exchanged for short-lived tokens, renewed before they end."""

    def __init__(self, key: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._key = key
        self._monotonic = monotonic
        self._token: str | None = None
        self._renew_at = 0.0
        self._lock = asyncio.Lock()

    async def token(self, exchange: Exchange) -> str | None:
        """The present token; one exchange serves everybody who waits for it."""
        async with self._lock:
            if self._token is None or self._monotonic() >= self._renew_at:
                issued = await exchange(self._key)
                self._token = issued.token
                self._renew_at = self._monotonic() + issued.seconds * _RENEW_AT
            return self._token

    def expire(self, token: str) -> bool:
        """Forget a refused token; the next call exchanges the key again."""
        if self._token == token:
            self._token = None
        return True
