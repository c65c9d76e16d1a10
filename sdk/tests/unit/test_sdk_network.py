"""The runtime when the way to the platform is bad: lost answers, and silence for too long."""

import asyncio

import httpx2
import pytest

from gpuaas_contract.states import OperationStatus, StepState
from gpuaas_sdk import Client, Controller, Options, Procedure, Retries, ServiceAccountKey
from gpuaas_sdk.app import App, Context, Step
from gpuaas_sdk.runtime import reporting
from gpuaas_sdk.testing import MemoryPlatform, operation_ended
from gpuaas_sdk.testing.example import SLUG, Boards, notes_app, notes_manifest


class BadWay(httpx2.AsyncBaseTransport):
    """A network that loses every second answer, or everything."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self._asked = 0
        self.lost = 0
        self.cut = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.cut:
            raise httpx2.ConnectError("cut")
        answer = await self._inner.handle_async_request(request)
        self._asked += 1
        told = request.url.path.rsplit("/", 1)[1] in {"report", "complete"}
        if told and self._asked % 2:
            self.lost += 1
            raise httpx2.ReadError("the answer was lost")
        return answer


class Held(Step):
    """A step that does not end by itself."""

    name = "held"

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def do(self, ctx: Context) -> None:
        ctx.log.info("waiting")
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


def client(way: BadWay) -> Client:
    quick = Retries(attempts=1, first_delay=0.0, longest_delay=0.0)
    return Client("http://memory", ServiceAccountKey("controller"), retries=quick, transport=way)


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_done_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reporting, "_AGAIN_SECONDS", 0.001)
    boards, platform = Boards(), MemoryPlatform(SLUG, notes_manifest())
    way = BadWay(platform.surface)
    asked = await platform.deploy({"board": "alloc_1", "pins": ["alloc_2"]})
    async with client(way) as bad:
        controller = Controller(notes_app(boards), bad, Options(wait_seconds=0.05, observe=None))
        task = asyncio.create_task(controller.run())
        ended = await operation_ended(platform, asked.operation.id)
        controller.stop()
        await asyncio.wait_for(task, 60)
    assert way.lost > 0
    assert (ended.status, ended.attempt) == (OperationStatus.SUCCEEDED, 1)
    assert set(boards.done.values()) == {1}
    assert {one.state for one in ended.progress} == {StepState.SUCCEEDED}


async def test_who_cannot_reach_the_platform_lets_go_when_the_lease_ends() -> None:
    platform, step = MemoryPlatform(SLUG, notes_manifest()), Held()
    way = BadWay(platform.surface)
    honest = notes_app(Boards())
    app = App(**{**vars(honest), "operations": {"deploy": Procedure([step])}})
    await platform.deploy({"board": "alloc_1"})
    async with client(way) as bad:
        options = Options(wait_seconds=0.05, lease_seconds=5, observe=None)
        task = asyncio.create_task(Controller(app, bad, options).run())
        await asyncio.wait_for(step.begun.wait(), 60)
        way.cut = True
        await asyncio.wait_for(step.ended.wait(), 60)
        task.cancel()
        await asyncio.wait({task})
