"""Where machines come from: hosts that are there already, or plug-ins that make them to order.

A plug-in is an entry point of the group `gpuaas.providers` in any installed package: a callable
without arguments that gives a `Provider`. Plain values go in and come out, so that it need not
import anything of ours. Every call may come again after a crash: it is known by the allocation.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol, cast

from gpuaas_platform.kernel.call import Platform

ENROLLED: Final = "enrolled"
GROUP: Final = "gpuaas.providers"
PART: Final = "capacity.providers"


class Provider(Protocol):
    """Makes machines and takes them away.

    An order says `allocation_id`, `name`, `sku` (with `cpus`, `memory_mib`, `gpus`), `region`, the
    region's `options`, and `trust`: what the machine's sshd trusts from its first moment on. An
    error whose attribute `permanent` is true is not tried again.

    `trust` has `authorities` (lines for TrustedUserCAKeys), `principals` (who may log in as which
    user; nobody else may) and `krl` (the list for RevokedKeys, in base64). A provider that can tell
    its machines of changes has one more call, `async machine_trust(order)`, with the same order
    less its `sku`. It returns when the machine holds exactly that, and raises when it does not know
    it. Where there is no such call, certificates end when they expire, and that is said.
    """

    async def machine_make(self, order: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make the machine, or find the one that was made: its `address` and `host_keys`."""
        ...

    async def machine_unmake(self, order: Mapping[str, Any]) -> None:
        """Take the machine away, or find that it is gone. Returns when nothing of it is left."""
        ...


TrustCall = Callable[[Mapping[str, Any]], Awaitable[None]]


def trust_call(provider: Provider) -> TrustCall | None:
    """How a provider tells its machines whom to let in; None when it cannot."""
    call: TrustCall | None = getattr(provider, "machine_trust", None)
    return call


def provider_names(platform: Platform) -> frozenset[str]:
    """The providers a region can name."""
    return frozenset({ENROLLED, *_plug_ins(), *platform.parts.get(PART, {})})


def provider_of(platform: Platform, name: str) -> Provider:
    """A plug-in, made once for the life of the process."""
    made: dict[str, Provider] = platform.parts.setdefault(PART, {})
    if name not in made:
        plug_in = _plug_ins().get(name)
        if plug_in is None:
            raise LookupError(f"The provider {name} is not installed on this replica.")
        made[name] = cast("Provider", plug_in.load()())
    return made[name]


@cache
def _plug_ins() -> dict[str, EntryPoint]:
    return {one.name: one for one in entry_points(group=GROUP)}
