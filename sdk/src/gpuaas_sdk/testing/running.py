"""A controller at work in a test: until an operation ended, until killed, until time passed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from gpuaas_contract.apps import Operation
from gpuaas_contract.states import OperationStatus
from gpuaas_sdk.app import App
from gpuaas_sdk.machines.wire import Access
from gpuaas_sdk.runtime.controller import Controller, Options
from gpuaas_sdk.state import StateStore
from gpuaas_sdk.testing.memory import MemoryPlatform

_LOOK = 0.002
_PATIENCE = 30.0
_ENDED: Final = frozenset(OperationStatus) - {
    OperationStatus.REQUESTED,
    OperationStatus.ACCEPTED,
    OperationStatus.RUNNING,
}


@asynccontextmanager
async def controller_running(
    app: App[Any],
    platform: MemoryPlatform,
    state: StateStore | None = None,
    access: Access | None = None,
) -> AsyncIterator[Controller]:
    """A controller that works for the length of the block; then it is killed, not stopped."""
    async with platform.client() as client:
        options = Options(replica="test", wait_seconds=0.05, observe=None, access=access)
        controller = Controller(app, client, options, state=state)
        task = asyncio.create_task(controller.run())
        try:
            yield controller
        finally:
            task.cancel()
            await asyncio.wait({task})


async def operation_ended(platform: MemoryPlatform, operation_id: str) -> Operation:
    """Wait for an operation's end; delays and lapsed leases pass in no time."""
    async with asyncio.timeout(_PATIENCE):
        while (found := platform.operation(operation_id)).status not in _ENDED:
            if found.status is OperationStatus.REQUESTED:
                wait = (found.not_before - platform.clock.now()).total_seconds()
                platform.clock.advance(max(0.0, wait))
            await asyncio.sleep(_LOOK)
    return found


async def operation_run(
    app: App[Any],
    platform: MemoryPlatform,
    operation_id: str,
    state: StateStore | None = None,
    access: Access | None = None,
) -> Operation:
    """One controller works until the operation ended."""
    async with controller_running(app, platform, state, access):
        return await operation_ended(platform, operation_id)
