"""TXT records of the domain name system, behind an interface of one method.

Only read to prove that a tenant controls a domain. Never within a transaction.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import dns.asyncresolver
import dns.exception
import dns.nameserver
import dns.resolver
import structlog

from gpuaas_platform.kernel.problems import Unavailable
from gpuaas_platform.kernel.settings import Settings

_log = structlog.get_logger(__name__)
_SECONDS: Final = 5.0
_PORT: Final = 53


class TxtResolver(Protocol):
    """Looks TXT records up."""

    async def txt(self, name: str) -> list[str]:
        """The records of a name, none when it has none; raises `Unavailable` without an answer."""
        ...


class DnsResolver:
    """Asks the name servers of the settings, or those of this machine."""

    def __init__(self, settings: Settings) -> None:
        self._servers = settings.dns_servers

    async def txt(self, name: str) -> list[str]:
        """The records of a name; an answer that says there are none is an answer."""
        try:
            found = await self._resolver().resolve(f"{name}.", "TXT")
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, OSError) as error:
            _log.warning("dns_silent", name=name, error=type(error).__name__)
            raise Unavailable("The domain name system") from error
        return [b"".join(record.strings).decode("utf-8", "replace") for record in found]

    def _resolver(self) -> dns.asyncresolver.Resolver:
        resolver = dns.asyncresolver.Resolver(configure=not self._servers)
        resolver.lifetime = _SECONDS
        if self._servers:
            resolver.nameservers = _nameservers(self._servers)
        return resolver


def _nameservers(servers: Sequence[str]) -> list[dns.nameserver.Nameserver | str]:
    made: list[dns.nameserver.Nameserver | str] = []
    for server in servers:
        host, _, port = server.rpartition(":") if server.count(":") == 1 else (server, "", "")
        made.append(dns.nameserver.Do53Nameserver(host, int(port) if port else _PORT))
    return made
