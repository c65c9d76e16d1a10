"""The in-memory platform keeps the contract: the same cases run on the real one."""

from collections.abc import Awaitable, Callable

import pytest

from gpuaas_sdk.testing import MemoryPlatform
from gpuaas_sdk.testing.conformance import CASES
from gpuaas_sdk.testing.example import SLUG, notes_manifest
from gpuaas_sdk.testing.ground import Ground
from gpuaas_sdk.testing.memory import PROJECT


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_contract_holds_in_memory(case: Callable[[Ground], Awaitable[None]]) -> None:
    platform = MemoryPlatform(SLUG, notes_manifest())
    platform.publish("1.1.0", notes_manifest(split=True))
    machines = tuple(f"alloc_{n}" for n in range(6))
    async with platform.client("controller") as controller, platform.client("person") as person:
        await case(Ground(controller, person, PROJECT, machines, platform.clock.advance))
