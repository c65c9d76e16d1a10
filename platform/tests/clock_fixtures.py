"""A test's clock that starts at a moment of the real world, for servers with a clock of their own.

Like the one of conftest.py, it moves only when told to.
"""

from datetime import datetime, timedelta

from gpuaas_platform.kernel.clock import Clock


class RealStart(Clock):
    """A clock that moves only when told to (and a hair per id, so that ids stay ordered)."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def advance(self, **how_long: float) -> None:
        self._now += timedelta(**how_long)
