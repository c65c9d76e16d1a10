"""Steps beside each other: all at once, each reported, and what a failure or a cancel means."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from anyio.lowlevel import checkpoint
from sdk_acts import Act

from gpuaas_contract.states import OperationStatus, StepState
from gpuaas_sdk import (
    App,
    ConflictFailure,
    Context,
    PermanentFailure,
    Procedure,
    Step,
    TemporaryFailure,
    Together,
)
from gpuaas_sdk.contract import Operation
from gpuaas_sdk.testing import MemoryPlatform, controller_running, operation_ended, operation_run
from gpuaas_sdk.testing.example import SLUG, Boards, notes_app, notes_manifest


def app_of(steps: list[Step | Together]) -> App[Any]:
    return App(**{**vars(notes_app(Boards())), "operations": {"deploy": Procedure(steps)}})


async def deployed(platform: MemoryPlatform) -> Operation:
    return (await platform.deploy({"board": "alloc_first"}, "first")).operation


@pytest.fixture
def platform() -> MemoryPlatform:
    return MemoryPlatform(SLUG, notes_manifest())


async def test_steps_that_need_nothing_of_each_other_run_at_once(platform: MemoryPlatform) -> None:
    met, order = asyncio.Barrier(2), []

    def meeting(name: str) -> Callable[[Context], Any]:
        async def act(ctx: Context) -> None:
            await met.wait()
            order.append(name)
            ctx.say(f"{name} met")

        return act

    async def alone(_: Context) -> None:
        order.append("last")

    steps: list[Step | Together] = [
        Act("begin"),
        Together(Act("a", meeting("a")), [Act("b", meeting("b")), Act("c")]),
        Act("last", alone),
    ]
    asked = await deployed(platform)
    ended = await operation_run(app_of(steps), platform, asked.id)
    assert ended.status is OperationStatus.SUCCEEDED
    own = [step for step in ended.progress if step.name in {"begin", "a", "b", "c", "last"}]
    assert [step.name for step in own] == ["begin", "a", "b", "c", "last"]
    assert {step.state for step in own} == {StepState.SUCCEEDED}
    assert [step.message for step in own[1:3]] == ["a met", "b met"]
    assert order[-1] == "last"
    assert sorted(order[:2]) == ["a", "b"]


async def test_a_failure_lets_what_runs_beside_it_end_and_nothing_more_begin(
    platform: MemoryPlatform,
) -> None:
    begun, failed = asyncio.Event(), asyncio.Event()

    async def failing(_: Context) -> None:
        await begun.wait()
        failed.set()
        raise PermanentFailure("broken", "It is broken.")

    async def longer(_: Context) -> None:
        begun.set()
        await failed.wait()
        await checkpoint()  # by now the other branch has ended

    beside, never, after = Act("beside", longer), Act("never"), Act("after")
    steps: list[Step | Together] = [Together(Act("failing", failing), [beside, never]), after]
    asked = await deployed(platform)
    ended = await operation_run(app_of(steps), platform, asked.id)
    assert ended.status is OperationStatus.FAILED
    assert ended.error is not None
    assert ended.error.code == "broken"
    states = {step.name: step.state for step in ended.progress}
    assert (states["failing"], states["beside"]) == (StepState.FAILED, StepState.SUCCEEDED)
    assert beside.done
    assert not never.done
    assert not after.done


async def test_the_gravest_of_several_failures_at_once_counts(platform: MemoryPlatform) -> None:
    met = asyncio.Barrier(2)

    def failing(error: Exception) -> Callable[[Context], Any]:
        async def act(_: Context) -> None:
            await met.wait()
            raise error

        return act

    steps: list[Step | Together] = [
        Together(
            Act("passing", failing(TemporaryFailure("busy", "Busy."))),
            Act("lasting", failing(ConflictFailure("taken", "Taken."))),
        )
    ]
    asked = await deployed(platform)
    ended = await operation_run(app_of(steps), platform, asked.id)
    assert ended.error is not None
    assert ended.error.code == "taken"


async def test_a_cancel_stops_branches_at_their_safe_points(platform: MemoryPlatform) -> None:
    begun = asyncio.Event()

    async def long(ctx: Context) -> None:
        begun.set()
        while True:
            await ctx.tell("it goes on")
            ctx.safe_point()
            await checkpoint()

    first, later = Act("first"), Act("later")
    steps: list[Step | Together] = [
        Together([first, Act("long", long)], [Act("waits", long), later])
    ]
    asked = await deployed(platform)
    async with controller_running(app_of(steps), platform):
        await begun.wait()
        await platform.cancel(asked.id)
        ended = await operation_ended(platform, asked.id)
    assert ended.status is OperationStatus.CANCELLED
    assert first.undone
    assert not later.done
