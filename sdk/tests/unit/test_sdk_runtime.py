"""The controller runtime on the in-memory platform: ends, stops, losses, shutdown, slots."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from eventually import eventually
from sdk_acts import Act

from gpuaas_contract.apps import ErrorFamily, OperationCreate
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus, StepState
from gpuaas_sdk import (
    App,
    AuthenticationError,
    Client,
    ConflictFailure,
    Context,
    Controller,
    Options,
    PermanentFailure,
    Procedure,
    Step,
    TemporaryFailure,
)
from gpuaas_sdk.contract import Operation
from gpuaas_sdk.runtime.controller import replica_name
from gpuaas_sdk.testing import MemoryPlatform, controller_running, operation_ended, operation_run
from gpuaas_sdk.testing.example import SLUG, Boards, notes_app, notes_manifest

DEPLOY = {"board": "alloc_1", "pins": ["alloc_2"]}


def app_of(steps: Sequence[Step], **more: Any) -> App[Any]:
    honest = notes_app(Boards())
    values = {**vars(honest), "operations": {"deploy": Procedure(steps)}, **more}
    return App(**values)


async def deployed(platform: MemoryPlatform, name: str = "first") -> Operation:
    where = {"board": f"alloc_{name}"}
    return (await platform.deploy(where, name)).operation


@pytest.fixture
def platform() -> MemoryPlatform:
    return MemoryPlatform(SLUG, notes_manifest())


def raising(error: Exception, times: int = 99) -> Callable[[Context], Any]:
    left = [times]

    async def act(_: Context) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise error

    return act


async def held(_: Context) -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def replica(
    platform: MemoryPlatform, app: App[Any], **more: Any
) -> AsyncIterator[tuple[Controller, "asyncio.Task[None]"]]:
    options = {"replica": "test", "wait_seconds": 0.05, "observe": None, **more}
    async with platform.client() as client:
        controller = Controller(app, client, Options(**options))
        task = asyncio.create_task(controller.run())
        try:
            yield controller, task
        finally:
            task.cancel()
            await asyncio.wait({task})


async def test_steps_are_reported_and_the_end_is_told(platform: MemoryPlatform) -> None:
    asked = await platform.deploy(DEPLOY)
    ended = await operation_run(notes_app(Boards()), platform, asked.operation.id)
    assert ended.status is OperationStatus.SUCCEEDED
    assert [(s.name, s.state) for s in ended.progress] == [
        ("paper", StepState.SUCCEEDED),
        ("ink", StepState.SUCCEEDED),
    ]
    assert ended.progress[0].message == "paper hangs on 2 boards"
    assert all(s.started_at and s.ended_at for s in ended.progress)
    instance = platform.instance(asked.instance.id)
    assert (instance.status, instance.runtime_version) == (InstanceStatus.RUNNING, "notes 1")
    assert {m.status for m in platform.members(instance.id)} == {MemberStatus.READY}


async def test_a_step_costs_one_call(platform: MemoryPlatform) -> None:
    asked = await deployed(platform)
    await operation_run(app_of([Act(f"s{n}") for n in range(5)]), platform, asked.id)
    said = [path.rsplit("/", 1)[1] for _, path in platform.surface.requests if asked.id in path]
    assert said.count("report") == 6
    assert said.count("complete") == 1


async def test_a_step_that_goes_on_says_what_it_waits_for(platform: MemoryPlatform) -> None:
    seen: list[str] = []

    async def waits(ctx: Context) -> None:
        await ctx.tell("waits for 2 jobs")
        step = platform.operation(ctx.operation.id).progress[-1]
        seen.append(f"{step.state}: {step.message}")
        ctx.say("nothing waits any more")

    operation = await deployed(platform)
    ended = await operation_run(app_of([Act("wait", waits)]), platform, operation.id)
    assert seen == ["running: waits for 2 jobs"]
    assert ended.progress[-1].message == "nothing waits any more"


async def test_what_was_so_before_is_skipped(platform: MemoryPlatform) -> None:
    asked, step = await deployed(platform), Act("there")
    step.done = True
    ended = await operation_run(app_of([step, Act("new")]), platform, asked.id)
    states = {s.name: s.state for s in ended.progress}
    assert states["there"] is StepState.SKIPPED
    assert states["new"] is StepState.SUCCEEDED


async def test_a_temporary_failure_is_tried_again_after_its_delay(
    platform: MemoryPlatform,
) -> None:
    asked = await deployed(platform)
    before = platform.clock.now()
    step = Act("shy", raising(TemporaryFailure("shy", "Not yet.", delay=120), times=2))
    ended = await operation_run(app_of([step]), platform, asked.id)
    assert (ended.status, ended.attempt) == (OperationStatus.SUCCEEDED, 3)
    assert (platform.clock.now() - before).total_seconds() > 240


@pytest.mark.parametrize(
    ("error", "family", "code"),
    [
        (PermanentFailure("no_disk", "Add a disk."), ErrorFamily.PERMANENT, "no_disk"),
        (ConflictFailure("foreign", "It is not ours."), ErrorFamily.CONFLICT, "foreign"),
        (TemporaryFailure("busy", "Busy.", delay=0), ErrorFamily.TEMPORARY, "attempts_exhausted"),
        (ZeroDivisionError("oops"), ErrorFamily.TEMPORARY, "attempts_exhausted"),
    ],
)
async def test_failures_end_by_family(
    platform: MemoryPlatform, error: Exception, family: ErrorFamily, code: str
) -> None:
    asked = await deployed(platform)
    ended = await operation_run(app_of([Act("bad", raising(error))]), platform, asked.id)
    assert ended.status is OperationStatus.FAILED
    assert ended.error is not None
    assert (ended.error.family, ended.error.code) == (family, code)
    assert {s.name: s.state for s in ended.progress}["bad"] is StepState.FAILED
    assert platform.instance(ended.instance_id).status is InstanceStatus.FAILED


async def test_an_effect_that_is_not_there_is_not_called_done(platform: MemoryPlatform) -> None:
    class Liar(Act):
        async def do(self, ctx: Context) -> None:
            ctx.say("done, believe me")

    asked = await deployed(platform)
    ended = await operation_run(app_of([Liar("lies")]), platform, asked.id)
    assert ended.error is not None
    assert ended.error.code == "attempts_exhausted"
    assert "its effect is not there" in ended.error.message


@pytest.mark.parametrize("error", [PermanentFailure("none", "None."), KeyError("unforeseen")])
async def test_a_failure_says_at_which_step(platform: MemoryPlatform, error: Exception) -> None:
    asked = await deployed(platform)
    platform.world.change_operation(asked.id, max_attempts=1)
    steps = [Act("good"), Act("bad", raising(error))]
    ended = await operation_run(app_of(steps), platform, asked.id)
    assert ended.error is not None
    assert ended.error.detail["step"] == "bad"


async def test_a_step_past_its_deadline_is_ended(platform: MemoryPlatform) -> None:
    asked = await deployed(platform)
    platform.world.change_operation(asked.id, max_attempts=1)
    async with replica(platform, app_of([Act("slow", held)]), step_seconds=0.05):
        ended = await operation_ended(platform, asked.id)
    assert ended.error is not None
    assert "did not end within" in ended.error.message


async def test_parallel_work_fails_by_its_gravest_failure(platform: MemoryPlatform) -> None:
    async def both(_: Context) -> None:
        async with asyncio.TaskGroup() as tasks:
            for error in (TemporaryFailure("slow", "Slow."), PermanentFailure("none", "None.")):
                tasks.create_task(raising(error)(_))

    asked = await deployed(platform)
    ended = await operation_run(app_of([Act("both", both)]), platform, asked.id)
    assert ended.error is not None
    assert (ended.error.code, ended.attempt) == ("none", 1)


async def test_a_step_that_cancels_itself_is_a_failure(platform: MemoryPlatform) -> None:
    async def give_up(_: Context) -> None:
        raise asyncio.CancelledError

    asked = await deployed(platform)
    ended = await operation_run(app_of([Act("odd", give_up)]), platform, asked.id)
    assert ended.error is not None
    assert ended.error.code == "attempts_exhausted"
    assert "as if it had been cancelled" in ended.error.message


async def test_a_kind_nobody_knows_fails_for_good(platform: MemoryPlatform) -> None:
    asked = await deployed(platform)
    ended = await operation_run(app_of([], operations={}), platform, asked.id)
    assert ended.error is not None
    assert ended.error.code == "operation_unknown"


async def test_a_cancel_stops_at_a_safe_point_and_undoes_what_was_begun(
    platform: MemoryPlatform,
) -> None:
    asked = await deployed(platform)
    was_there, first, never = Act("was_there"), Act("first"), Act("never")
    was_there.done = True

    async def cancel(_: Context) -> None:
        await platform.cancel(asked.id)

    steps = [was_there, first, Act("second", cancel), never]
    ended = await operation_run(app_of(steps), platform, asked.id)
    assert ended.status is OperationStatus.CANCELLED
    states = {s.name: s.state for s in ended.progress}
    assert (states["first"], states["second"]) == (StepState.UNDONE, StepState.UNDONE)
    assert states["was_there"] is StepState.SKIPPED
    assert (was_there.undone, first.undone, never.undone) == (False, True, False)


async def test_a_cancel_is_heard_inside_a_long_step(platform: MemoryPlatform) -> None:
    asked = await deployed(platform)

    async def long(ctx: Context) -> None:
        await platform.cancel(asked.id)

        def heard() -> bool:
            ctx.safe_point()  # raises once the cancel is heard
            return False

        await eventually(heard)

    async with replica(platform, app_of([Act("long", long)]), lease_seconds=5):
        ended = await operation_ended(platform, asked.id)
    assert ended.status is OperationStatus.CANCELLED


async def test_an_undo_that_fails_is_told(platform: MemoryPlatform) -> None:
    class Stuck(Act):
        async def undo(self, ctx: Context) -> None:
            raise PermanentFailure("glued", f"{ctx.operation.kind} cannot be taken back.")

    asked = await deployed(platform)

    async def cancel(_: Context) -> None:
        await platform.cancel(asked.id)

    steps = [Stuck("glue", cancel), Act("after")]
    ended = await operation_run(app_of(steps), platform, asked.id)
    assert ended.status is OperationStatus.FAILED
    assert ended.error is not None
    assert ended.error.code == "undo_failed"


async def test_whoever_lost_the_lease_stops_at_once_and_says_nothing(
    platform: MemoryPlatform,
) -> None:
    asked = await deployed(platform)
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work(_: Context) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with replica(platform, app_of([Act("long", work)]), lease_seconds=5) as running:
        await asyncio.wait_for(begun.wait(), 60)
        platform.clock.advance(6)
        platform.world.hide(asked.id, token="somebody-else-has-it-now")
        said = len(platform.surface.requests)
        await asyncio.wait_for(ended.wait(), 60)
        await eventually(lambda: not running[0]._works, what="the end of the operation's task")
    later = platform.surface.requests[said:]
    about = [path.rsplit("/", 1)[1] for _, path in later if asked.id in path]
    assert set(about) == {"heartbeat"}


async def test_a_shutdown_hands_leases_back(platform: MemoryPlatform) -> None:
    asked = await deployed(platform)
    begun, go = asyncio.Event(), asyncio.Event()

    async def wait(_: Context) -> None:
        begun.set()
        await go.wait()

    steps = [Act("first", wait), Act("second")]
    async with replica(platform, app_of(steps)) as (controller, task):
        await asyncio.wait_for(begun.wait(), 60)
        controller.stop()
        go.set()
        await asyncio.wait_for(task, 60)
    handed = platform.operation(asked.id)
    assert (handed.status, handed.attempt) == (OperationStatus.REQUESTED, 1)
    assert {s.name: s.state for s in handed.progress}["first"] is StepState.SUCCEEDED
    ended = await operation_run(app_of(steps), platform, asked.id)
    assert (ended.status, ended.attempt) == (OperationStatus.SUCCEEDED, 1)


async def test_a_shutdown_does_not_wait_for_ever(platform: MemoryPlatform) -> None:
    asked = await deployed(platform)
    async with replica(platform, app_of([Act("stuck", held)]), grace_seconds=0.05) as running:
        await eventually(lambda: platform.operation(asked.id).status is OperationStatus.RUNNING)
        running[0].stop()
        await asyncio.wait_for(running[1], 60)
    assert platform.operation(asked.id).status is OperationStatus.REQUESTED


async def test_slots_bound_what_runs_at_once_and_one_bad_instance_blocks_nobody(
    platform: MemoryPlatform,
) -> None:
    bad = await deployed(platform, "bad")
    others = [await deployed(platform, f"good{n}") for n in range(6)]
    at_once: set[str] = set()
    most, ends = [0], asyncio.Semaphore(0)
    worked: list[str] = []

    def full(ended: int) -> bool:
        """Whether so many have ended, and as many run as there are slots, the bad one always."""
        return len(worked) == ended and len(at_once) == min(3, 1 + len(others) - ended)

    class Work(Step):
        name = "work"

        async def do(self, ctx: Context) -> None:
            at_once.add(ctx.operation.id)
            most[0] = max(most[0], len(at_once))
            if ctx.operation.id == bad.id:
                await held(ctx)
            await ends.acquire()
            at_once.discard(ctx.operation.id)
            worked.append(ctx.operation.id)

    async with replica(platform, app_of([Work()]), slots=3):
        for ended in range(len(others)):
            await eventually(partial(full, ended))
            ends.release()
        for one in others:
            assert (await operation_ended(platform, one.id)).status is OperationStatus.SUCCEEDED
    assert most[0] <= 3
    assert platform.operation(bad.id).status is OperationStatus.RUNNING


async def test_two_replicas_share_the_work(platform: MemoryPlatform) -> None:
    boards = Boards()
    asked = [await deployed(platform, f"n{n}") for n in range(8)]
    async with (
        replica(platform, notes_app(boards), slots=1, replica="one"),
        replica(platform, notes_app(boards), slots=1, replica="two"),
    ):
        for one in asked:
            await operation_ended(platform, one.id)
    assert set(boards.done.values()) == {1}


async def test_members_of_a_group_are_added_each_on_its_own(platform: MemoryPlatform) -> None:
    boards = Boards()
    app = notes_app(boards)
    first = await platform.deploy({"board": "alloc_1"})
    await operation_run(app, platform, first.operation.id)
    pins = {"pins": [f"alloc_{n}" for n in range(2, 6)]}
    group = await platform.ask(first.instance.id, OperationCreate(kind="add_pin", input=pins))
    async with controller_running(app, platform):
        for one in group.operations:
            assert (await operation_ended(platform, one.id)).status is OperationStatus.SUCCEEDED
    assert platform.instance(first.instance.id).topology == "multi_node"
    assert len(platform.members(first.instance.id)) == 5


async def test_a_controller_that_never_was_let_in_says_so(platform: MemoryPlatform) -> None:
    client = Client("http://memory", transport=platform.surface)
    with pytest.raises(AuthenticationError):
        await Controller(notes_app(Boards()), client, Options(observe=None)).run()
    await client.close()


def test_each_replica_has_a_name_of_its_own() -> None:
    assert replica_name()
    assert Options().replica == replica_name()
