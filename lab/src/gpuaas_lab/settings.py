"""Where the lab keeps its things, and which addresses it may use.

Read once by the command and by the Python API; every value has an environment variable.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_lab.errors import LabError

STATE_VARIABLE = "GPUAAS_LAB_STATE"
CACHE_VARIABLE = "GPUAAS_LAB_CACHE"
RANGE_VARIABLE = "GPUAAS_LAB_RANGE"
SOURCES_VARIABLE = "GPUAAS_LAB_SOURCES"

DEFAULT_RANGE = "10.213.0.0/16"


@dataclass(frozen=True)
class Settings:
    """The lab's folders and its address range."""

    state: Path = Path("/var/lib/gpuaas-lab")
    cache: Path = Path("/var/cache/gpuaas")
    address_range: ipaddress.IPv4Network = field(
        default_factory=lambda: ipaddress.IPv4Network(DEFAULT_RANGE)
    )
    sources: Path | None = None
    """An apt sources file to use instead of the host's own."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the environment; an unset variable keeps its default."""
        env = os.environ if environ is None else environ
        default = cls()
        sources = env.get(SOURCES_VARIABLE)
        return cls(
            state=Path(env.get(STATE_VARIABLE) or default.state),
            cache=Path(env.get(CACHE_VARIABLE) or default.cache),
            address_range=_range(env.get(RANGE_VARIABLE) or DEFAULT_RANGE),
            sources=Path(sources) if sources else None,
        )


def _range(text: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise LabError(f"{RANGE_VARIABLE} is not an IPv4 network: {error}") from error
    if network.prefixlen > 24:
        raise LabError(f"{RANGE_VARIABLE} must hold at least one /24, {text} does not")
    return network
