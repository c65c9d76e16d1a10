"""Where made machines are told whom to let in: claim, have the provider do it, write it down.

Runs in every replica beside the workshop; a machine is one replica's at a time. What is told is
computed at that moment, never kept: what was marked twice is told once. A machine that does not
answer is tried again, ever more rarely, on hands that live ones do not need.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

import structlog

from gpuaas_contract.capacity import Node
from gpuaas_contract.states import AllocationStatus
from gpuaas_platform.capacity.providers import provider_of, trust_call
from gpuaas_platform.capacity.store import trust as store
from gpuaas_platform.capacity.trust import (
    REPAIR,
    TOPIC,
    WANTED_PART,
    Trust,
    Wanted,
    trust_arrived,
    trust_outstanding,
)
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.masking import error_told
from gpuaas_platform.kernel.work import Answer, Undone, mutate

_log = structlog.get_logger(__name__)
EVERY: Final = 5.0
_PARALLEL: Final = 32
_AGAIN: Final = 16
_PATIENCE: Final = 20.0
_LEASE: Final = timedelta(seconds=30)  # longer than the patience: nobody else tells meanwhile
_FIRST_DELAY: Final = 1.0
_LONGEST_DELAY: Final = 15.0
_ERROR_LONGEST: Final = 500


class ProviderCannotTell(Exception):
    """A provider whose machines learn nothing after they were made."""

    permanent = True


class Trusting:
    """The machines this replica is telling whom to let in."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._tasks: dict[asyncio.Task[None], bool] = {}

    async def turn(self) -> None:
        """Take what is due, as far as there are hands; each machine is told by itself."""
        wanted: Wanted | None = self._platform.parts.get(WANTED_PART)
        if wanted is None:
            return  # said by a room that starts later, and wakes this one
        await self._take(wanted, _PARALLEL - len(self._tasks), again=False)
        again = min(_AGAIN - sum(self._tasks.values()), _PARALLEL - len(self._tasks))
        await self._take(wanted, again, again=True)

    async def close(self) -> None:
        """Leave everything as it is; another replica, or the next start, goes on."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _take(self, wanted: Wanted, free: int, *, again: bool) -> None:
        if free <= 0:
            return
        clock = self._platform.clock
        now = clock.now()
        claim = store.Claim(clock.randomness(12).hex(), now, now + _LEASE, free, again)
        async with self._platform.db.connection() as conn:
            rows = await store.trust_claim(conn, claim)
        for row in rows:
            task = asyncio.create_task(self._work(row, wanted))
            self._tasks[task] = again
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        error = None if task.cancelled() else task.exception()
        if error is not None:  # nothing was written down: the lease lapses, and it is tried again
            _log.warning("trust_not_recorded", error=error_told(error))
        self._platform.signals.wake(TOPIC)  # there may be more than there were hands

    async def _work(self, row: Record, wanted: Wanted) -> None:
        trust = None
        try:
            async with asyncio.timeout(_PATIENCE):
                trust = await wanted(row["allocation_id"])
                await self._tell(row, trust)
        except asyncio.CancelledError:
            await asyncio.shield(self._let_go(row))
            raise
        except Exception as error:  # noqa: BLE001 - a provider may raise anything
            await self._failed(row, trust, error)
        else:
            await self._confirmed(row, trust)

    async def _tell(self, row: Record, trust: Trust) -> None:
        call = trust_call(provider_of(self._platform, row["provider"]))
        if call is None:
            raise ProviderCannotTell(
                f"The provider {row['provider']} tells its machines nothing after they were made:"
                " certificates end there when they expire."
            )
        await call(_order(row, trust))

    async def _confirmed(self, row: Record, trust: Trust) -> None:
        now = self._platform.clock.now()
        said = store.Confirmed(row["node_id"], row["token"], row["asked"], trust.revision)
        async with self._platform.db.connection() as conn:
            after = await store.trust_confirm(conn, said, now, now + REPAIR)
        if after is not None and after["outstanding_since"] is not None:
            await self._say(row, "arrived", partial(trust_arrived, row=after))

    async def _failed(self, row: Record, trust: Trust | None, error: Exception) -> None:
        """Write it down; it is said to be outstanding when there was anything new to tell."""
        news = trust is None or trust.revision != row["revision"]
        if news:
            _log.warning(
                "trust_not_told",
                node_id=row["node_id"],
                attempt=row["attempt"],
                error=error_told(error),
            )
        permanent = bool(getattr(error, "permanent", False))
        delay = _delay(row["attempt"]) if news and not permanent else REPAIR.total_seconds()
        due_at = self._platform.clock.now() + timedelta(seconds=delay)
        text = _text(error)[:_ERROR_LONGEST]
        async with self._platform.db.connection() as conn:
            failed = store.Failed(row["node_id"], row["token"], text, due_at)
            after = await store.trust_fail(conn, failed)
        if after is None:
            return
        given_back = row["status"] == AllocationStatus.RELEASING
        if news and not given_back and after["outstanding_since"] is None:
            say = partial(trust_outstanding, row=row, error=text, permanent=permanent)
            await self._say(row, "outstanding", say)
        if delay <= _LONGEST_DELAY:
            loop = asyncio.get_running_loop()
            loop.call_later(delay, self._platform.signals.wake, TOPIC)

    async def _say(
        self, row: Record, what: str, handler: Callable[..., Awaitable[Answer[Node]]]
    ) -> None:
        call = system_call(self._platform, f"/capacity/trust/{what}", row["correlation_id"])
        try:
            await mutate(call, f"capacity.trust.{what}", handler)
        except Undone:
            return

    async def _let_go(self, row: Record) -> None:
        async with self._platform.db.connection() as conn:
            await store.trust_let_go(conn, row["node_id"], row["token"])


def _order(row: Record, trust: Trust) -> Mapping[str, Any]:
    return {
        "allocation_id": row["allocation_id"],
        "name": row["name"],
        "region": row["region"],
        "options": row["provider_options"],
        "trust": trust.told(),
        "correlation_id": row["correlation_id"],
    }


def _delay(attempt: int) -> float:
    longest = _LONGEST_DELAY / _FIRST_DELAY
    return _FIRST_DELAY * min(longest, 2.0 ** min(attempt - 1, 16))


def _text(error: Exception) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return f"Its provider did not manage within {_PATIENCE:g} s."
    return str(error) or type(error).__name__
