"""Keeping one lease: heartbeats while work is done, and the moment it must be given up for lost.

Time is counted from before a heartbeat is sent, so this side lets go no later than the platform
does. Used by `work.py`.
"""

import asyncio
from collections.abc import Callable

from gpuaas_contract.apps import Operation
from gpuaas_contract.controllers import Claimed, Heartbeat
from gpuaas_sdk.app import Cancellation
from gpuaas_sdk.errors import ConflictError, GpuaasError, NotFoundError
from gpuaas_sdk.runtime.calls import Calls, lease_lost
from gpuaas_sdk.telemetry import Log

_BEATS_PER_LEASE = 3


class LeaseLost(Exception):
    """The operation is no longer ours: stop at once and say nothing more about it."""


class Lease:
    """One held lease. `keep()` ends only when it is lost."""

    def __init__(
        self, calls: Calls, claimed: Claimed, seconds: int, cancellation: Cancellation
    ) -> None:
        self.token = claimed.lease.token
        self._operation: Operation = claimed.operation
        self._calls = calls
        self._seconds = seconds
        self._cancellation = cancellation
        self._now: Callable[[], float] = asyncio.get_running_loop().time
        self._until = self._now() + seconds

    async def keep(self, log: Log) -> None:
        """Beat until the lease is lost or nobody could be asked for as long as it holds."""
        body = Heartbeat(lease_token=self.token, lease_seconds=self._seconds)
        pause = self._seconds / _BEATS_PER_LEASE
        while True:
            await asyncio.sleep(max(0.0, min(pause, self._until - self._now())))
            sent = self._now()
            if sent >= self._until:
                log.warning("lease lapsed: the platform could not be asked in time")
                return
            try:
                async with asyncio.timeout_at(self._until):
                    answer = await self._calls.heartbeat(self._operation, body)
            except TimeoutError:
                continue
            except ConflictError as error:
                if lease_lost(error):
                    log.warning("lease lost")
                    return
                log.warning("heartbeat refused: %s", error)
            except NotFoundError:
                log.warning("the operation is gone")
                return
            except GpuaasError as error:
                log.warning("heartbeat failed: %s", error)
            else:
                self._until = sent + self._seconds
                self.heard(cancel_requested=answer.cancel_requested)

    def heard(self, *, cancel_requested: bool) -> None:
        """The platform said whether to stop; once asked, it stays asked."""
        self._cancellation.requested = self._cancellation.requested or cancel_requested
