"""Where orders are worked on: claim, have the provider do it, write down what became of it.

Runs in every replica; an order is one replica's at a time, for as long as it says so. A replica
that dies leaves the order to the next, and providers know an allocation's machine again. Nothing
is awaited from a provider inside a transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, Final

import structlog
from pydantic import ValidationError

from gpuaas_contract.capacity import NodeCreate
from gpuaas_platform.capacity.orders import (
    ATTEMPTS,
    TOPIC,
    OrderKind,
    order_begin,
    order_failed,
    order_made,
    order_unmade,
)
from gpuaas_platform.capacity.providers import Provider, provider_of, trust_call
from gpuaas_platform.capacity.store import orders as store
from gpuaas_platform.capacity.trust import TOPIC as TRUST_TOPIC
from gpuaas_platform.capacity.trust import trust_wanted
from gpuaas_platform.capacity.trusting import EVERY as TRUST_EVERY
from gpuaas_platform.capacity.trusting import Trusting
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.kept import span_keep
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.masking import error_told
from gpuaas_platform.kernel.work import Handler, Undone, mutate

_log = structlog.get_logger(__name__)
_EVERY: Final = 5.0
_PARALLEL: Final = 16
_LEASE: Final = timedelta(seconds=20)
_BEAT: Final = 5.0
_PATIENCE: Final = 900.0


@asynccontextmanager
async def capacity_life(platform: Platform) -> AsyncIterator[None]:
    """Work on orders, and tell made machines whom to let in, for as long as the process serves."""
    workshop, trusting = Workshop(platform), Trusting(platform)
    orders = Loop("capacity-orders", workshop.turn, _EVERY, TOPIC)
    trust = Loop("capacity-trust", trusting.turn, TRUST_EVERY, TRUST_TOPIC)
    try:
        async with loop_running(platform.signals, orders), loop_running(platform.signals, trust):
            yield
    finally:
        await workshop.close()
        await trusting.close()


class Workshop:
    """The orders this replica works on."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._tasks: set[asyncio.Task[None]] = set()

    async def turn(self) -> None:
        """Take what is due, as far as there are hands; each order is worked on by itself."""
        free = _PARALLEL - len(self._tasks)
        if free <= 0:
            return
        now = self._platform.clock.now()
        token = self._platform.clock.randomness(12).hex()
        async with self._platform.db.connection() as conn:
            orders = await store.orders_claim(conn, token, now, now + _LEASE, free)
        for order in orders:
            task = asyncio.create_task(self._work(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Leave everything as it is; another replica, or the next start, goes on."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _work(self, order: Record) -> None:
        keeper = asyncio.create_task(self._keep(order))
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._done(order)
        except Exception as error:  # noqa: BLE001 - a provider may raise anything
            await self._failed(order, error)
        finally:
            keeper.cancel()
            await self._let_go(order)

    async def _done(self, order: Record) -> None:
        provider = provider_of(self._platform, order["provider"])
        if order["kind"] == OrderKind.UNMAKE:
            with _span(order):
                await provider.machine_unmake(_wanted(order))
            await self._say(order, "unmade", partial(order_unmade, order=order))
            return
        await self._say(order, "begin", partial(order_begin, order=order))
        trust = await trust_wanted(self._platform, order["allocation_id"])
        told = {} if trust is None else {"trust": trust.told()}
        with _span(order):
            made = _node(order, await provider.machine_make({**_wanted(order), **told}))
        trusts = "" if trust is None or trust_call(provider) is None else trust.revision
        await self._say(order, "made", partial(order_made, order=order, made=made, trusts=trusts))

    async def _failed(self, order: Record, error: Exception) -> None:
        """Write it down; what may have been half made and is given up is taken away first."""
        _log.warning(
            "order_failed",
            correlation_id=order["correlation_id"],
            allocation_id=order["allocation_id"],
            kind=order["kind"],
            attempt=order["attempt"],
            error=error_told(error),
        )
        permanent = bool(getattr(error, "permanent", False)) or isinstance(error, ValidationError)
        final = permanent or order["attempt"] >= ATTEMPTS
        text = str(error) or type(error).__name__
        if final and order["kind"] == OrderKind.MAKE:
            text += await self._tidied(order)
        with suppress(Exception):  # the lease lapses, and it is tried again
            handler = partial(order_failed, order=order, error=text, final=final)
            await self._say(order, "failed", handler)

    async def _tidied(self, order: Record) -> str:
        try:
            provider: Provider = provider_of(self._platform, order["provider"])
            async with asyncio.timeout(_PATIENCE):
                await provider.machine_unmake(_wanted(order))
        except Exception as error:  # noqa: BLE001 - a provider may raise anything
            return f" What was left of it could not be taken away either: {error}"
        return ""

    async def _say(self, order: Record, what: str, handler: Handler[Any]) -> None:
        call = system_call(self._platform, f"/capacity/orders/{what}", order["correlation_id"])
        with suppress(Undone):
            await mutate(call, f"capacity.order.{what}", handler)

    async def _keep(self, order: Record) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            until = self._platform.clock.now() + _LEASE
            with suppress(Exception):  # the next beat may succeed
                async with self._platform.db.connection() as conn:
                    await store.order_keep(conn, order["allocation_id"], order["token"], until)

    async def _let_go(self, order: Record) -> None:
        """Whatever became of it, nobody has to wait for this replica's lease."""
        with suppress(Exception):
            async with self._platform.db.connection() as conn:
                await store.order_let_go(conn, order["allocation_id"], order["token"], None)
        self._platform.signals.send((TOPIC,))


def _wanted(order: Record) -> Mapping[str, Any]:
    kind = {name: order[name] for name in ("cpus", "memory_mib", "gpus")}
    return {
        "allocation_id": order["allocation_id"],
        "name": order["name"],
        "region": order["region"],
        "sku": {"name": order["sku"], **kind},
        "options": order["provider_options"],
        "correlation_id": order["correlation_id"],
    }


def _node(order: Record, made: Mapping[str, Any]) -> NodeCreate:
    """What a provider made, as a node: named after its allocation, which is like no other."""
    return NodeCreate(
        name=order["allocation_id"].replace("_", "-"),
        region=order["region"],
        sku=order["sku"],
        address=made["address"],
        host_keys=list(made["host_keys"]),
    )


def _span(order: Record) -> AbstractContextManager[None]:
    """How long a provider takes is worth knowing when somebody waits for a machine."""
    return span_keep(
        order["correlation_id"],
        f"{order['kind']} of the machine by {order['provider']}",
        allocation_id=order["allocation_id"],
        attempt=str(order["attempt"]),
    )
