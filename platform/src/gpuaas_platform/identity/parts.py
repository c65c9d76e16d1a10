"""What the identity room keeps for the life of a process; made by `life.py`, read by services."""

from dataclasses import dataclass
from typing import Final

from gpuaas_platform.identity.oidc import Provider
from gpuaas_platform.identity.passwords import Passwords
from gpuaas_platform.identity.resolving import Resolver
from gpuaas_platform.kernel.call import Platform

_PART: Final = "identity"


@dataclass(frozen=True)
class Parts:
    """The password hasher, who looks tokens up, and the OIDC provider where one is configured."""

    passwords: Passwords
    tokens: Resolver
    provider: Provider | None = None


def parts_keep(platform: Platform, parts: Parts) -> None:
    """Keep the parts for as long as the process lives."""
    platform.parts[_PART] = parts


def parts_of(platform: Platform) -> Parts:
    """The parts of a platform whose life has begun."""
    parts = platform.parts[_PART]
    if not isinstance(parts, Parts):
        raise TypeError("the identity room's parts are something else")
    return parts
