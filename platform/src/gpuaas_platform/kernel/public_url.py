"""The platform's own address, for the absolute URLs it hands out.

The configured `public_url` comes first; without it, the address among those the platform listens on
that is this host's end of the route to the caller. The Host header of a request is never used: the
caller chooses it, and another caller may follow the URL.
"""

import ipaddress
import socket
from typing import Final

from starlette.requests import Request

from gpuaas_platform.kernel.settings import Settings

_EVERYWHERE: Final = {"0.0.0.0", "::", ""}  # noqa: S104 - what a listener may be set to
_DISCARD: Final = 9


def public_base(settings: Settings) -> str:
    """The configured public URL without its last slash; empty, for a relative URL, without one."""
    return (settings.public_url or "").rstrip("/")


def port_of(settings: Settings, request: Request) -> int:
    """The port at which this request came."""
    port: int | None = (request.scope.get("server") or ("", None))[1]
    return port or settings.port


def base_of(settings: Settings, port: int, address: str | None) -> str:
    """The start of an absolute URL for who is at this address; `port` is where a request came."""
    if settings.public_url:
        return public_base(settings)
    hosts = [host.strip() for host in settings.host.split(",")]
    route = _route_to(address or "")
    if route is not None and (route in hosts or _EVERYWHERE & set(hosts)):
        return f"http://{_written(route)}:{port}"
    return f"http://{_written(hosts[0])}:{port}"


def _route_to(address: str) -> str | None:
    """Our end of the way to an address. Routes are looked up; nothing is sent or waited for."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _DISCARD))
            return str(probe.getsockname()[0])
    except (ValueError, OSError):
        return None  # a name, or no way there: the first address it is


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host
