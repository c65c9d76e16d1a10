"""Where the platform goes to pull for a source: never, for a tenant, into its own network.

A tenant names a registry; without a guard, the platform would fetch from inside for them. What the
platform itself shares is named by its operator and goes anywhere. The address is judged at the
moment of connecting, so a name that changes its meaning in between gains nothing.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

import httpcore2

from gpuaas_platform.kernel.outbound import Guard
from gpuaas_platform.kernel.problems import invalid
from gpuaas_platform.kernel.settings import Settings


class AddressRefused(Exception):
    """The registry lies where a tenant's source may not reach."""


def guard_of(settings: Settings) -> Guard:
    """What a tenant's source may reach: public addresses, and networks the operator names."""
    return Guard(settings.artifact_allowed_networks)


def address_require(guard: Guard | None, address: str, *, plain_http: bool) -> None:
    """Refuse an address that can be told to be wrong at first sight; a name is judged later."""
    parts = urlsplit(address)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise invalid("/address", "has a port that cannot be") from error
    if port == 0 or not host.strip(".") or ".." in host:
        raise invalid("/address", "names a host that cannot exist")
    if guard is None:
        return
    if plain_http and not guard.allowed:
        raise invalid("/plain_http", "a tenant's registry speaks TLS")
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return
    if not guard.allows(literal, encrypted=not plain_http):
        raise invalid("/address", "points to an address a tenant's source may not reach")


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to an address that was judged, never to a name. No guard: anywhere."""

    def __init__(self, guard: Guard | None, *, encrypted: bool) -> None:
        self._guard = guard
        self._encrypted = encrypted
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of httpcore2
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Look the name up, judge what it means, connect to that."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(f"the host {host} is not known") from error
        texts = [str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found]
        allowed = [text for text in texts if self._allows(text)]
        if not allowed:
            raise AddressRefused(f"the address of {host} is one a tenant's source may not reach")
        return await self._backend.connect_tcp(
            allowed[0], port, timeout, local_address, socket_options
        )

    def _allows(self, text: str) -> bool:
        if self._guard is None:
            return True
        return self._guard.allows(ipaddress.ip_address(text), encrypted=self._encrypted)
