"""Where the platform goes to pull for a source: never, for a tenant, into its own network.

A tenant names a registry; without a guard, the platform would fetch from inside for them. What the
platform itself shares is named by its operator and goes anywhere. Names are judged when they are
connected to (`kernel.outbound`).
"""

import ipaddress
from urllib.parse import urlsplit

from gpuaas_platform.kernel.outbound import Guard
from gpuaas_platform.kernel.problems import invalid
from gpuaas_platform.kernel.settings import Settings


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
