"""What an observer saw before an operation was taken, said something or ended is not written."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from apps_fake_controller import FakeController
from apps_fixtures import Site
from eventually import eventually

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.apps.store import instances
from gpuaas_platform.apps.sweeps import sweep
from gpuaas_platform.kernel.caller import CallerKind, Place

OVERTAKEN = (409, "observation_overtaken")


class Observer:
    """A replica that looks at one instance."""

    def __init__(self, controller: FakeController, instance_id: str) -> None:
        self._controller = controller
        self._path = f"/app-instances/{instance_id}"
        self.lease: dict[str, Any] = {}

    async def look(self) -> "Observer":
        """Begin to look: stay the observer, and get the mark."""
        body = {"controller": {"replica": self._controller.replica}}
        held = {"lease_token": self.lease["token"]} if self.lease else {}
        answer = await self._controller.tell(f"{self._path}/observer", body | held)
        assert answer.status_code == 200, answer.text
        self.lease = answer.json()
        return self

    async def say(self, summary: str = "seen", **more: Any) -> httpx2.Response:
        """Say what was seen, with the mark of the look."""
        seen = {"instance": {"adapter_detail": {"summary": summary}}} | more
        said = {"lease_token": self.lease["token"], "mark": self.lease["mark"]}
        return await self._controller.tell(f"{self._path}/report", said | seen)

    async def outcome(self, **more: Any) -> tuple[int, str | None]:
        """How it went: status and code."""
        answer = await self.say(**more)
        return answer.status_code, answer.json().get("code")


async def echo(site: Site, controller: FakeController, name: str = "first") -> str:
    """An instance that runs, with a hub and a voice."""
    instance_id = str((await site.deploy(name, voices=[site.machines[1]]))["instance"]["id"])
    await controller.drain_queue()
    return instance_id


async def test_a_look_an_operation_ended_after_is_not_written_at_all(
    site: Site, controller: FakeController
) -> None:
    instance_id = await echo(site, controller)
    observer = await Observer(FakeController(site, "echo-1"), instance_id).look()
    voice = (await site.members(instance_id))[1]["id"]
    await site.asked(instance_id, "hush", voice)
    await controller.drain_queue()
    before = await site.instance(instance_id), await site.members(instance_id)
    told = len(await site.events(instance_id))
    ready = [{"member_id": voice, "status": "ready", "health": "healthy"}]
    refused = await observer.say(members=ready)
    assert (refused.status_code, refused.json()["code"]) == OVERTAKEN
    problem = refused.json()
    assert (problem["next_actions"], problem["retryable"]) == (["look_again"], False)
    assert problem["context"] == {"app_instance_id": instance_id}
    assert before == (await site.instance(instance_id), await site.members(instance_id))
    assert before[1][1]["status"] == "drained"
    assert len(await site.events(instance_id)) == told
    await observer.look()
    assert (await observer.outcome())[0] == 200


async def test_every_move_of_an_operation_overtakes_and_progress_does_not(
    site: Site, controller: FakeController, clock: Any
) -> None:
    instance_id = await echo(site, controller)
    observer = Observer(FakeController(site, "echo-1"), instance_id)
    voice = (await site.members(instance_id))[1]["id"]
    hushed = (await site.asked(instance_id, "hush", voice))["operation"]["id"]
    await observer.look()
    claimed = (await controller.claim())[0]
    assert await observer.outcome() == OVERTAKEN, "taken"
    for what, body, expected in (
        ("report", {"steps": [{"name": "act", "state": "running"}]}, OVERTAKEN),
        ("report", {"steps": [{"name": "act", "state": "succeeded"}]}, (200, None)),
        ("heartbeat", {}, (200, None)),
        ("report", {"members": [{"member_id": voice, "health": "drained"}]}, OVERTAKEN),
        ("report", {"instance": {"health": "healthy"}}, OVERTAKEN),
        ("release", {}, OVERTAKEN),
    ):
        await observer.look()
        assert (await controller.say(claimed, what, **body)).status_code == 200
        assert await observer.outcome() == expected, (what, body)
    await controller.claim()
    clock.advance(seconds=61)
    await observer.look()
    await sweep(site.platform)
    assert await observer.outcome() == OVERTAKEN, "lapsed"
    clock.advance(seconds=59)
    await observer.look()
    abandoned = await site.ask("POST", f"/operations/{hushed}/abandon", {"reason": "enough"})
    assert abandoned.status_code == 200, abandoned.text
    assert await observer.outcome() == OVERTAKEN, "abandoned"


async def test_nothing_between_is_written_as_often_as_it_is_said(
    site: Site, controller: FakeController
) -> None:
    instance_id = await echo(site, controller)
    other = await site.deploy("other", hub=site.machines[2])
    observer = await Observer(FakeController(site, "echo-1"), instance_id).look()
    await controller.drain_queue()  # another instance's deploy
    assert (await site.instance(other["instance"]["id"]))["status"] == "running"
    await site.asked(instance_id, "stop")  # nobody has taken it
    for summary in ("one", "two"):
        said = await observer.say(summary)
        assert said.json()["adapter_detail"]["summary"] == summary


async def test_a_look_during_an_operation_tells_of_a_machine_that_does_not_answer(
    site: Site, controller: FakeController
) -> None:
    instance_id = await echo(site, controller)
    hub, voice = [one["id"] for one in await site.members(instance_id)]
    await site.asked(instance_id, "hush", voice)
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report", steps=[{"name": "act", "state": "running"}])
    observer = await Observer(FakeController(site, "echo-1"), instance_id).look()
    gone = {"health": "unreachable", "conditions": [{"type": "unreachable"}]}
    members = [{"member_id": one, **gone} for one in (hub, voice)]
    assert (await observer.outcome(members=members))[0] == 200
    found = await site.members(instance_id)
    assert [one["health"] for one in found] == ["unreachable", "unreachable"]


async def test_a_controller_that_knows_no_marks_is_heard_as_before(
    site: Site, controller: FakeController
) -> None:
    instance_id = await echo(site, controller)
    path = f"/app-instances/{instance_id}"
    lease = await controller.tell(f"{path}/observer", {"controller": {"replica": "echo-0"}})
    await site.asked(instance_id, "say")
    await controller.drain_queue()
    seen = {"lease_token": lease.json()["token"], "instance": {"health": "degraded"}}
    assert (await controller.tell(f"{path}/report", seen)).json()["health"] == "degraded"


async def test_a_mark_opens_nothing_for_somebody_else(
    site: Site, controller: FakeController, callers: Any
) -> None:
    instance_id = await echo(site, controller)
    observer = await Observer(FakeController(site, "echo-1"), instance_id).look()
    said = {"lease_token": observer.lease["token"], "mark": observer.lease["mark"]}
    place = Place("org_other", "proj_other")
    for where, expected in ((place, (404, "not_found")), (site.place, (409, "lease_lost"))):
        token = callers.add(RoleName.APP_OPERATOR, where, CallerKind.SERVICE_ACCOUNT)
        stranger = FakeController(site, "echo-2", {"Authorization": f"Bearer {token}"})
        answer = await stranger.tell(f"/app-instances/{instance_id}/report", said)
        assert (answer.status_code, answer.json()["code"]) == expected
    made_up = observer.lease["mark"] + "0"
    observer.lease["mark"] = made_up
    assert await observer.outcome() == OVERTAKEN


async def test_the_revision_tells_whether_the_instance_was_read_before(
    site: Site, controller: FakeController
) -> None:
    instance_id = await echo(site, controller)
    observer = await Observer(FakeController(site, "echo-1"), instance_id).look()
    read = await site.instance(instance_id)
    assert observer.lease["revision"] == read["revision"]
    voice = (await site.members(instance_id))[1]["id"]
    await site.asked(instance_id, "hush", voice)
    asked = (await site.instance(instance_id))["revision"]
    await controller.drain_queue()
    drained = await site.instance(instance_id)
    assert drained["revision"] == asked, "operations that move are no change of the instance"
    await observer.say()
    await observer.look()
    assert observer.lease["revision"] == drained["revision"]


@pytest.mark.parametrize("operation_first", [True, False])
async def test_of_an_operation_and_a_look_that_race_the_operation_has_the_last_word(
    site: Site, controller: FakeController, operation_first: bool
) -> None:
    instance_id = await echo(site, controller)
    await site.asked(instance_id, "say")
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report")
    observer = await Observer(FakeController(site, "echo-1"), instance_id).look()
    end = {"instance": {"adapter_detail": {"summary": "said"}}}
    ends, looks = controller.say(claimed, "complete", **end), observer.outcome(summary="old")
    async with locked(site, instance_id):
        first = asyncio.create_task(ends if operation_first else looks)
        await waiting(site, 1)
        second = asyncio.create_task(looks if operation_first else ends)
        await waiting(site, 2)
    answers = [await first, await second]
    seen = answers[1 if operation_first else 0]
    assert seen == (OVERTAKEN if operation_first else (200, None))
    assert (await site.instance(instance_id))["adapter_detail"]["summary"] == "said"


async def test_what_is_claimed_while_a_look_waits_to_be_written_overtakes_it(
    site: Site, controller: FakeController
) -> None:
    instance_id = await echo(site, controller)
    await site.asked(instance_id, "say")
    observer = await Observer(FakeController(site, "echo-1"), instance_id).look()
    async with locked(site, instance_id):
        looks = asyncio.create_task(observer.outcome())
        await waiting(site, 1)
        assert len(await controller.claim()) == 1  # claims wait for no instance
    assert await looks == OVERTAKEN


@asynccontextmanager
async def locked(site: Site, instance_id: str) -> AsyncIterator[None]:
    """Nobody writes the instance for the length of the block."""
    async with site.platform.db.transaction() as conn:
        await instances.instance_lock(conn, instance_id)
        yield


async def waiting(site: Site, number: int) -> None:
    """Until so many wait for a lock, in the order they came."""

    async def reached() -> bool:
        blocked = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND cardinality(pg_blocking_pids(pid)) > 0"
        )
        return bool(await site.platform.db.fetchval(blocked) == number)

    await eventually(reached)
