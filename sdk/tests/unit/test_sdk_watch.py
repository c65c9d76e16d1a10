"""Looking at instances on schedule: said when it changed, one replica, nobody blocked."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from anyio.lowlevel import checkpoint
from eventually import eventually

from gpuaas_contract.apps import AdapterDetail, Operation, OperationCreate
from gpuaas_contract.controllers import ControllerSelf, Observe, ObserverLease
from gpuaas_contract.states import Health, InstanceStatus, OperationStatus
from gpuaas_sdk import App, Controller, Log, Look, Machines, MemoryState, Options, Schedule
from gpuaas_sdk.runtime.calls import Calls
from gpuaas_sdk.runtime.surroundings import Surroundings
from gpuaas_sdk.runtime.watch import Watch
from gpuaas_sdk.telemetry import Labels
from gpuaas_sdk.testing import MemoryPlatform, operation_ended, operation_run
from gpuaas_sdk.testing.example import SLUG, Boards, notes_app, notes_manifest


class Figures:
    """Metrics a test can read."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, dict[str, str]]] = []
        self.timed: list[str] = []

    def count(self, name: str, labels: Labels) -> None:
        self.counted.append((name, dict(labels)))

    def timing(self, name: str, seconds: float, labels: Labels) -> None:
        assert seconds >= 0
        self.timed.append(name)
        del labels

    def outcomes(self) -> list[str]:
        return [labels["outcome"] for name, labels in self.counted if name == "observations"]


class Place:
    """A platform with one running instance, and replicas that watch it."""

    def __init__(self) -> None:
        self.boards = Boards()
        self.platform = MemoryPlatform(SLUG, notes_manifest())
        self.figures = Figures()

    async def running(self, name: str) -> str:
        asked = await self.platform.deploy({"board": f"alloc_{name}"}, name)
        await operation_run(notes_app(self.boards), self.platform, asked.operation.id)
        return asked.instance.id

    async def done_elsewhere(self, instance_id: str, kind: str) -> None:
        """An operation from its request to its end, by another replica."""
        asked = await self.platform.ask(instance_id, OperationCreate(kind=kind))
        await operation_run(notes_app(self.boards), self.platform, asked.operation.id)

    def asked(self, kind: str) -> list[Operation]:
        """All operations of this kind there ever were."""
        return [one for one in self.platform.world.operations.values() if one.kind == kind]

    def meanwhile(
        self, happens: Callable[[Look], Awaitable[None]], *, self_heal: bool = False
    ) -> App[Any]:
        """The app; something happens after it has looked and before it can say what it saw."""
        app = notes_app(self.boards, self_heal=self_heal)

        async def observe(look: Look) -> dict[str, set[str]]:
            seen = await app.observe(look)
            await happens(look)
            return seen

        return replace(app, observe=observe)

    def watch(self, app: App[Any] | None = None, replica: str = "one", **more: float) -> Watch:
        client = self.platform.client()
        around = Surroundings(
            app=app or notes_app(self.boards),
            calls=Calls(client),
            state=MemoryState(),
            machines=Machines(client),
            log=Log(logging.getLogger("test"), {}),
            metrics=self.figures,
            lease_seconds=60,
            step_seconds=60,
        )
        return Watch(around, ControllerSelf(replica=replica), Schedule(**more))  # type: ignore[arg-type]  # the seconds alone are given

    async def looked(self, times: int) -> None:
        """Until it was looked so often."""
        await eventually(lambda: len(self.figures.outcomes()) >= times)

    def reports(self) -> int:
        paths = [path for _, path in self.platform.surface.requests]
        return sum(
            path.startswith("/app-instances/") and path.endswith("/report") for path in paths
        )


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def turned(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a turn of a watch has ended."""
    ended, turn = asyncio.Event(), Watch.turn

    async def observed(watch: Watch) -> None:
        await turn(watch)
        ended.set()

    monkeypatch.setattr(Watch, "turn", observed)
    return ended


async def test_what_is_seen_is_said_once_and_again_when_it_changed(place: Place) -> None:
    instance_id = await place.running("a")
    watch = place.watch()
    await watch.turn()
    await watch.turn()
    assert place.reports() == 1
    assert place.platform.instance(instance_id).health is Health.HEALTHY
    place.boards.take("alloc_a", "paper")
    await watch.turn()
    instance = place.platform.instance(instance_id)
    assert instance.health is Health.DEGRADED
    assert instance.adapter_detail is not None
    assert instance.adapter_detail.summary == "1 boards are bare"
    assert place.figures.outcomes() == ["converged", "converged", "drifted"]


async def test_two_replicas_do_not_fight(place: Place) -> None:
    await place.running("a")
    await place.watch(replica="one").turn()
    await place.watch(replica="two").turn()
    assert place.figures.outcomes() == ["converged", "elsewhere"]
    place.platform.clock.advance(1000)
    await place.watch(replica="two").turn()
    assert place.figures.outcomes()[-1] == "converged"


async def test_a_replica_that_ends_lets_the_other_look_at_once(place: Place) -> None:
    await place.running("a")
    first = place.watch(replica="one")
    await first.turn()
    await first.hand_back()
    await place.watch(replica="two").turn()
    assert place.figures.outcomes() == ["converged", "converged"]


async def test_a_lease_that_is_lost_keeps_no_other_from_being_handed_back(place: Place) -> None:
    for name in ("a", "b", "c"):
        await place.running(name)
    first = place.watch(replica="one")
    await first.turn()
    next(iter(first._known.values())).token = "the token of somebody else"
    await first.hand_back()
    await place.watch(replica="two").turn()
    assert sorted(place.figures.outcomes()[3:]) == ["converged", "converged", "elsewhere"]


async def test_what_was_seen_before_an_operation_elsewhere_is_not_said_after_it(
    place: Place,
) -> None:
    instance_id = await place.running("a")
    said: list[AdapterDetail | None] = []

    async def stopped(_: Look) -> None:
        said.append(place.platform.instance(instance_id).adapter_detail)
        if len(said) == 1:
            await place.done_elsewhere(instance_id, "stop")

    await place.watch(place.meanwhile(stopped)).turn()
    assert place.figures.outcomes() == ["overtaken", "drifted"]
    assert said == [None, None]
    instance = place.platform.instance(instance_id)
    assert instance.status is InstanceStatus.STOPPED
    assert instance.adapter_detail is not None
    assert instance.adapter_detail.summary == "1 boards are bare"


async def test_what_is_overtaken_again_and_again_is_left_to_the_next_turn(place: Place) -> None:
    instance_id = await place.running("a")

    async def worked(_: Look) -> None:
        await place.done_elsewhere(instance_id, "reconcile")

    await place.watch(place.meanwhile(worked)).turn()
    assert place.figures.outcomes() == ["overtaken", "overtaken"]


async def test_what_an_operation_here_overtook_is_looked_at_when_it_ends(
    place: Place, turned: asyncio.Event
) -> None:
    instance_id = await place.running("a")

    async def begun(_: Look) -> None:
        if not place.figures.outcomes():
            watch.taken(instance_id)
            await place.done_elsewhere(instance_id, "reconcile")

    watch = place.watch(place.meanwhile(begun), every_seconds=3600)
    running = asyncio.create_task(watch.run())
    try:
        await asyncio.wait_for(turned.wait(), 60)
        assert place.figures.outcomes() == ["overtaken"]
        watch.freed(instance_id)
        await place.looked(2)
    finally:
        running.cancel()
    assert place.figures.outcomes() == ["overtaken", "converged"]


async def test_what_is_taken_here_while_it_waits_in_the_turn_is_not_looked_at(
    place: Place,
) -> None:
    ids = {await place.running("a"), await place.running("b")}
    looked: set[str] = set()

    async def taken(look: Look) -> None:
        looked.add(look.target.instance.id)
        for other in ids - looked:
            watch.taken(other)

    watch = place.watch(place.meanwhile(taken), parallel=1)
    await watch.turn()
    assert len(looked) == 1
    assert sorted(place.figures.outcomes()) == ["converged", "overtaken"]


async def test_an_instance_that_changed_since_it_was_listed_is_read_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance_id, other = await place.running("a"), await place.running("b")
    observe, kinds = Calls.observe, {instance_id: "stop", other: "decommission"}
    found: list[InstanceStatus] = []

    async def late(calls: Calls, one: str, body: Observe) -> ObserverLease:
        if one in kinds:
            await place.done_elsewhere(one, kinds.pop(one))
        return await observe(calls, one, body)

    async def seen(look: Look) -> None:
        found.append(look.target.instance.status)

    monkeypatch.setattr(Calls, "observe", late)  # a long queue before it
    await place.watch(place.meanwhile(seen)).turn()
    assert found == [InstanceStatus.STOPPED]
    assert sorted(place.figures.outcomes()) == ["drifted", "overtaken", "overtaken"]


async def test_nobody_heals_by_what_was_seen_before_it_was_healed(place: Place) -> None:
    instance_id = await place.running("a")
    place.boards.take("alloc_a", "paper")

    async def healed(_: Look) -> None:
        if place.figures.outcomes() == ["healing"]:
            (asked,) = place.asked("reconcile")
            await operation_run(notes_app(place.boards), place.platform, asked.id)

    watch = place.watch(place.meanwhile(healed, self_heal=True))
    await watch.turn()
    await watch.turn()
    assert place.figures.outcomes() == ["healing", "overtaken", "converged"]
    assert len(place.asked("reconcile")) == 1
    assert place.platform.instance(instance_id).health is Health.HEALTHY


async def test_what_an_operation_said_otherwise_meanwhile_is_said_again(place: Place) -> None:
    instance_id = await place.running("a")
    watch = place.watch()
    for _ in range(2):
        place.boards.take("alloc_a", "paper")
        await watch.turn()
        assert place.platform.instance(instance_id).health is Health.DEGRADED
        await place.done_elsewhere(instance_id, "reconcile")
        assert place.platform.instance(instance_id).health is Health.HEALTHY


async def test_a_lease_that_is_being_asked_for_is_handed_back_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.running("a")
    first = place.watch(replica="one")
    observe, asked, let = Calls.observe, asyncio.Event(), asyncio.Event()

    async def slowly(calls: Calls, instance_id: str, body: Observe) -> ObserverLease:
        asked.set()
        await let.wait()
        return await observe(calls, instance_id, body)

    monkeypatch.setattr(Calls, "observe", slowly)  # a slower network
    turn = asyncio.create_task(first.turn())
    await asked.wait()
    turn.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await turn
    ending = asyncio.create_task(first.hand_back())
    await checkpoint()
    let.set()
    await ending
    await place.watch(replica="two").turn()
    assert place.figures.outcomes() == ["converged"]


async def test_a_long_look_keeps_its_lease_and_a_lost_one_says_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance_id = await place.running("a")
    honest, lease = notes_app(place.boards), Watch._lease
    began, lost = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(Schedule, "lease_seconds", 1)

    async def listened(watch: Watch, *asked: Any) -> ObserverLease | None:
        held = await lease(watch, *asked)
        if held is None and watch is first:
            lost.set()
        return held

    async def observe(look: Look) -> dict[str, set[str]]:
        began.set()
        async with asyncio.timeout(60):
            await lost.wait()
        return await honest.observe(look)

    monkeypatch.setattr(Watch, "_lease", listened)
    first = place.watch(App(**{**vars(honest), "observe": observe}))
    place.boards.take("alloc_a", "paper")
    turn = asyncio.create_task(first.turn())
    await began.wait()
    place.platform.clock.advance(2)  # it lapses, and somebody else looks, before it is renewed
    await place.watch(replica="two").turn()
    assert place.platform.instance(instance_id).health is Health.DEGRADED
    said = place.reports()
    await turn
    assert lost.is_set()
    assert place.reports() == said


async def test_what_came_while_an_operation_ran_is_looked_at_when_it_ends(
    place: Place, turned: asyncio.Event
) -> None:
    instance_id = await place.running("a")
    watch = place.watch(every_seconds=3600)
    watch.taken(instance_id)
    running = asyncio.create_task(watch.run())
    try:
        await asyncio.wait_for(turned.wait(), 60)
        assert place.figures.outcomes() == []
        watch.freed(instance_id)
        await place.looked(1)
    finally:
        running.cancel()
    assert place.figures.outcomes() == ["converged"]


async def test_a_controller_of_one_instance_or_project_looks_at_no_other(place: Place) -> None:
    first, _ = await place.running("a"), await place.running("b")
    alone = place.watch()
    alone.instance_id = first
    await alone.turn()
    assert place.figures.outcomes() == ["converged"]
    elsewhere = place.watch()
    elsewhere.project_id = "proj_other"
    await elsewhere.turn()
    assert place.figures.outcomes() == ["converged"]


async def test_one_bad_instance_blocks_no_other(place: Place) -> None:
    bad, slow, good = [await place.running(name) for name in ("bad", "slow", "good")]
    honest = notes_app(place.boards)

    async def observe(look: Look) -> dict[str, set[str]]:
        if look.target.instance.id == bad:
            raise RuntimeError("a bug")
        if look.target.instance.id == slow:
            await asyncio.Event().wait()
        return await honest.observe(look)

    place.boards.take("alloc_good", "paper")
    app = App(**{**vars(honest), "observe": observe})
    await place.watch(app, patience_seconds=3).turn()
    assert place.platform.instance(good).health is Health.DEGRADED
    assert sorted(place.figures.outcomes()) == ["drifted", "failed", "failed"]


async def test_drift_becomes_an_operation_people_can_see(place: Place) -> None:
    instance_id = await place.running("a")
    place.boards.take("alloc_a", "paper")
    app = notes_app(place.boards, self_heal=True)
    schedule = Schedule(every_seconds=0.01)
    async with place.platform.client() as client:
        options = Options(replica="test", wait_seconds=0.05, observe=schedule)
        controller = Controller(app, client, options, metrics=place.figures)
        task = asyncio.create_task(controller.run())
        await eventually(lambda: place.boards.has("alloc_a", "paper"))
        asked = place.platform.world.operations.values()
        (healed,) = [one for one in asked if one.kind == "reconcile"][:1]
        ended = await operation_ended(place.platform, healed.id)
        controller.stop()
        await asyncio.wait_for(task, 60)
    assert ended.status is OperationStatus.SUCCEEDED
    assert place.platform.instance(instance_id).health is Health.HEALTHY
    assert {"operation_seconds", "step_seconds"} <= set(place.figures.timed)


async def test_a_turn_begins_at_once_when_it_is_woken(place: Place) -> None:
    await place.running("a")
    watch = place.watch(every_seconds=3600.0)
    running = asyncio.create_task(watch.run())
    try:
        for turns in (1, 2, 3):
            await place.looked(turns)
            assert len(place.figures.outcomes()) == turns
            watch.wake()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
