"""By which address a machine reaches the platform, as far as the platform can tell.

Used for the URLs of deliveries. The operator's word (`public_url`) comes first; without it, the
address among those the platform listens on that the way to the machine begins at.
"""

import ipaddress
import socket
from typing import Final

from gpuaas_platform.kernel.settings import Settings

_EVERYWHERE: Final = {"0.0.0.0", "::", ""}  # noqa: S104 - what a listener may be set to
_DISCARD: Final = 9


def base_of(settings: Settings, port: int, address: str | None) -> str:
    """The beginning of a URL for the machine at an address; `port` is where this request came."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
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
