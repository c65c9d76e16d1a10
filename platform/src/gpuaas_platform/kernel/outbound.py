"""Which addresses the platform may connect to for a tenant: nothing inside its own network.

A tenant names a URL (a webhook's target, a registry, an identity provider); without a guard the
platform would connect from inside for them. The address is looked up and judged at the moment of
connecting, and that very address is connected to, so that a name that changes its meaning in
between gains nothing. A name that is unknown, one that is refused and one that takes no connection
fail with the same words: the difference would tell which names exist inside. The log says which.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

import httpcore2
import httpx2
import structlog

from gpuaas_platform.kernel.tls import client_context

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_log = structlog.get_logger(__name__)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class TargetUnreachable(httpcore2.ConnectError):
    """There is no connection to the target; why is in the log alone."""

    def __init__(self) -> None:
        super().__init__("the target cannot be reached")


@dataclass(frozen=True)
class Guard:
    """Which addresses may be connected to: public ones, and networks the operator names."""

    allowed: tuple[Network, ...]

    def allows(self, address: Address, *, encrypted: bool) -> bool:
        """Whether a connection may go there. Unencrypted ones stay in the named networks."""
        if any(address in network for network in self.allowed):
            return True
        inner = _embedded(address)
        public = address.is_global and not address.is_multicast
        return encrypted and public and (inner is None or inner.is_global)

    def url_check(self, url: str) -> str | None:
        """What is wrong with a URL at first sight; None when nothing is."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return "is not a URL"
        if not url.isascii():
            return "needs plain ASCII: a host as xn--…, other characters percent-encoded"
        if not parts.hostname or parts.username or parts.password or parts.fragment or port == 0:
            return "needs a host, and has no user, password or fragment"
        encrypted = parts.scheme == "https"
        if not encrypted and not self.allowed:
            return "must begin with https://"
        try:
            address = ipaddress.ip_address(parts.hostname)
        except ValueError:
            return _name_check(parts.hostname)
        if not self.allows(address, encrypted=encrypted):
            return "points to an address it may not reach"
        return None


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
            addresses = [str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found]
            allowed = [text for text in addresses if self._allows(text)]
            if not allowed:
                raise PermissionError("address not allowed")
            return await self._backend.connect_tcp(
                allowed[0], port, timeout, local_address, socket_options
            )
        except (OSError, httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            _log.info("target_unreachable", host=host, reason=str(error))
            raise TargetUnreachable from error

    def _allows(self, text: str) -> bool:
        if self._guard is None:
            return True
        return self._guard.allows(ipaddress.ip_address(text), encrypted=self._encrypted)


def _name_check(host: str) -> str | None:
    """A name is judged when it is looked up; here, whether it can be looked up at all."""
    try:
        host.encode("idna")
    except UnicodeError:
        return "names a host that cannot exist"
    return None


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address a gateway would take out of an IPv6 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def guarded_client(guard: Guard, timeout: float) -> httpx2.AsyncClient:
    """A client that connects within a guard only, and never through a proxy."""
    return httpx2.AsyncClient(
        mounts={
            "https://": _transport(guard, encrypted=True),
            "http://": _transport(guard, encrypted=False),
        },
        timeout=timeout,
        trust_env=False,
    )


def _transport(guard: Guard, *, encrypted: bool) -> httpx2.AsyncHTTPTransport:
    transport = httpx2.AsyncHTTPTransport(trust_env=False)
    transport._pool = httpcore2.AsyncConnectionPool(  # noqa: SLF001 - takes no network backend
        ssl_context=client_context(),
        network_backend=GuardedBackend(guard, encrypted=encrypted),
    )
    return transport
