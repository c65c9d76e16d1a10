"""Rules of the policy room that other rooms and its routes call."""

from collections.abc import Iterable

from gpuaas_contract.policy import Decision, Dimension
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection


async def require(conn: Connection, place: Place, dimension: Dimension, value: str) -> None:
    """Pass, or raise `POLICY_DENIED` naming the overlay and rule that decided."""
    raise NotImplementedError


async def decide_many(
    conn: Connection, place: Place, dimension: Dimension, values: Iterable[str]
) -> dict[str, Decision]:
    """The decision for each value, from one read of the overlays."""
    raise NotImplementedError
