"""What the identity room keeps for the life of a process; made by `life.py`, read by services."""

from dataclasses import dataclass
from typing import Final

from gpuaas_platform.identity.dns import TxtResolver
from gpuaas_platform.identity.oidc import Provider
from gpuaas_platform.identity.passwords import Passwords
from gpuaas_platform.identity.providers import Providers
from gpuaas_platform.identity.resolving import Resolver
from gpuaas_platform.kernel.call import Platform

_PART: Final = "identity"


@dataclass(frozen=True)
class Parts:
    """The password hasher, who looks tokens up, the operator's provider where one is configured,
    tenants' providers, and who looks up the records that prove domains.
    """

    passwords: Passwords
    tokens: Resolver
    provider: Provider | None = None
    providers: Providers | None = None
    resolver: TxtResolver | None = None


def providers_of(platform: Platform) -> Providers:
    """Tenants' providers, in a process that serves."""
    providers = parts_of(platform).providers
    if providers is None:
        raise RuntimeError("this process serves nobody: it has no providers")
    return providers


def dns_of(platform: Platform) -> TxtResolver:
    """Who looks up records of domains, in a process that serves."""
    resolver = parts_of(platform).resolver
    if resolver is None:
        raise RuntimeError("this process serves nobody: it has no resolver")
    return resolver


def parts_keep(platform: Platform, parts: Parts) -> None:
    """Keep the parts for as long as the process lives."""
    platform.parts[_PART] = parts


def parts_of(platform: Platform) -> Parts:
    """The parts of a platform whose life has begun."""
    parts = platform.parts[_PART]
    if not isinstance(parts, Parts):
        raise TypeError("the identity room's parts are something else")
    return parts
