"""What carries orders to one machine. The SSH wire is in `ssh_wire.py`; tests bring their own."""

from dataclasses import dataclass
from typing import Protocol

from gpuaas_sdk.client import Client
from gpuaas_sdk.machines.scripts import About, Order


@dataclass(frozen=True)
class Output:
    """What came back of an order that came to its end, in bytes."""

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    cut: bool = False
    timed_out: bool = False


class Wire(Protocol):
    """The way to one machine. Used by several scripts at once."""

    async def ready(self, about: About) -> None:
        """Return when the machine can be asked; raise why it cannot."""
        ...

    async def execute(self, order: Order) -> Output:
        """Run a script to its end; raise when that could not be seen. Cancelled: it is ended."""
        ...

    async def close(self) -> None:
        """Let go of the machine."""
        ...


class Access(Protocol):
    """A way to get at machines: by certificate, by a key in custody, through the node's agent."""

    @property
    def key(self) -> str:
        """What tells two ways apart: machines are pooled by it."""
        ...

    def wire(self, client: Client, allocation_id: str) -> Wire:
        """The way to the machine of an allocation. Opens nothing yet."""
        ...
