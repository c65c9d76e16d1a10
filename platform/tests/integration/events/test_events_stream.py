"""The stream: who sees what, resume, back-pressure, and its ends."""

import asyncio
import json
from contextlib import AsyncExitStack

import httpx2
import pytest
from eventually import eventually
from journal_fixtures import (
    ORG,
    OTHER_ORG,
    OTHER_PROJECT,
    PROJECT,
    Callers,
    happen,
    listening,
    numbered,
    stream,
)

from gpuaas_contract.events import CloudEvent
from gpuaas_contract.permissions import Permission, RoleName
from gpuaas_platform.events import sse
from gpuaas_platform.events import stream as stream_module
from gpuaas_platform.events.stream import QUEUE_FRAMES, hub_of
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place


async def test_an_event_is_a_cloud_event_with_its_context(
    platform: Platform, callers: Callers
) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    async with listening(platform) as url, stream(url, token) as reader:
        await _live(platform, 1)
        await happen(platform, data={"n": 7}, correlation_id="incident-7")
        message = await reader.next()
    event = CloudEvent.model_validate(message)
    assert message["sse_type"] == event.type == "apps.instance.running"
    assert message["sse_id"] == event.sequence == "1"
    assert (event.specversion, event.source, event.subject) == ("1.0", "/gpuaas", "inst_1")
    assert (event.correlationid, event.orgid, event.appinstanceid) == ("incident-7", ORG, "inst_1")
    assert event.data.model_dump() == {
        "n": 7,
        "correlation_id": "incident-7",
        "org_id": ORG,
        "project_id": PROJECT.project_id,
        "app_slug": "demo",
        "app_instance_id": "inst_1",
    }
    attributes = set(message) - {"sse_type", "sse_id"}
    assert all(name.isalnum() and name == name.lower() for name in attributes)


async def test_everybody_gets_what_they_may_read_and_no_more(
    platform: Platform, callers: Callers
) -> None:
    tokens = {
        "project": callers.add(RoleName.PROJECT_VIEWER, PROJECT),
        "tenant": callers.add(RoleName.TENANT_ADMIN, Place(ORG)),
        "platform": callers.add(RoleName.PLATFORM_ADMIN),
    }
    places = [PROJECT, OTHER_PROJECT, OTHER_ORG, Place(ORG), Place()]
    expected = {"project": [0], "tenant": [0, 1, 3], "platform": [0, 1, 2, 3, 4]}
    async with listening(platform) as url, AsyncExitStack() as stack:
        readers = {
            who: await stack.enter_async_context(stream(url, token))
            for who, token in tokens.items()
        }
        await _live(platform, 3)
        for number, place in enumerate(places):
            await happen(platform, place, data={"n": number})
        for who, token in tokens.items():
            live = await readers[who].take(len(expected[who]))
            assert [message["data"]["n"] for message in live] == expected[who]
            behind = await stack.enter_async_context(stream(url, token, after=0))
            resumed = await behind.take(len(expected[who]))
            assert [message["data"]["n"] for message in resumed] == expected[who]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"type": "apps.instance"}, [0, 1, 2, 4]),
        ({"type": ["apps.instance.failed", "apps.member"]}, [1, 3]),
        ({"type": "apps.inst"}, []),
        ({"project_id": "proj_b"}, [2]),
        ({"org_id": "org_b"}, [4]),
        ({"app_instance_id": "inst_2"}, [3]),
        ({"app_slug": "other"}, [3]),
        ({"correlation_id": "cor-x"}, [1]),
    ],
)
async def test_filters_hold_live_behind_and_in_lists(
    platform: Platform,
    callers: Callers,
    client: httpx2.AsyncClient,
    query: dict[str, str],
    expected: list[int],
) -> None:
    token = callers.add(RoleName.PLATFORM_ADMIN)
    async with listening(platform) as url, stream(url, token, **query) as live:
        await _live(platform, 1)
        await happen(platform, data={"n": 0})
        await happen(platform, data={"n": 1}, type="apps.instance.failed", correlation_id="cor-x")
        await happen(platform, OTHER_PROJECT, data={"n": 2})
        await happen(
            platform,
            data={"n": 3},
            type="apps.member.ready",
            app_instance_id="inst_2",
            app_slug="other",
        )
        await happen(platform, OTHER_ORG, data={"n": 4})
        await numbered(platform, 5)
        assert [m["data"]["n"] for m in await live.take(len(expected))] == expected
        async with stream(url, token, after=0, **query) as behind:
            assert [m["data"]["n"] for m in await behind.take(len(expected))] == expected
    headers = {"Authorization": f"Bearer {token}"}
    newest = (await client.get("/events", params=query, headers=headers)).json()
    oldest = (await client.get("/events", params=query | {"after": 0}, headers=headers)).json()
    assert [e["data"]["n"] for e in newest["items"]] == expected[::-1]
    assert [e["data"]["n"] for e in oldest["items"]] == expected


async def test_a_project_with_its_surroundings(platform: Platform, callers: Callers) -> None:
    """What is of no project comes along, as far as its reader may read it; no other project's."""
    places = [PROJECT, OTHER_PROJECT, OTHER_ORG, Place(ORG), Place()]
    expected = {"project": [0], "tenant": [0, 3], "platform": [0, 3, 4]}
    tokens = {
        "project": callers.add(RoleName.PROJECT_VIEWER, PROJECT),
        "tenant": callers.add(RoleName.TENANT_ADMIN, Place(ORG)),
        "platform": callers.add(RoleName.PLATFORM_ADMIN),
    }
    query = {"project_id": str(PROJECT.project_id), "above": "true"}
    async with listening(platform) as url, AsyncExitStack() as stack:
        readers = {
            who: await stack.enter_async_context(stream(url, token, **query))
            for who, token in tokens.items()
        }
        await _live(platform, 3)
        for number, place in enumerate([*places, PROJECT]):
            await happen(platform, place, data={"n": number})
        for who, token in tokens.items():
            wanted = [*expected[who], len(places)]
            live = await readers[who].take(len(wanted))
            assert [message["data"]["n"] for message in live] == wanted
            behind = await stack.enter_async_context(stream(url, token, after=0, **query))
            resumed = await behind.take(len(wanted))
            assert [message["data"]["n"] for message in resumed] == wanted


async def test_a_stream_resumes_behind_the_last_id(platform: Platform, callers: Callers) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    await happen(platform, count=10)
    await numbered(platform, 10)
    async with listening(platform) as url:
        async with stream(url, token, after=3) as reader:
            assert [m["sse_id"] for m in await reader.take(4)] == ["4", "5", "6", "7"]
        async with stream(url, token, after=0, last_id=reader.last_id) as reader:
            assert [m["sse_id"] for m in await reader.take(3)] == ["8", "9", "10"]


async def test_many_pages_behind_and_live_events_meanwhile_come_once_and_in_order(
    platform: Platform, callers: Callers
) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    await happen(platform, count=950)
    await numbered(platform, 950)
    async with listening(platform) as url, stream(url, token, after=0) as reader:
        writing = asyncio.create_task(_write(platform, 40))
        ids = [int(m["sse_id"]) for m in await reader.take(990)]
        await writing
    assert ids == list(range(1, 991))


async def test_a_slow_reader_holds_nobody_up_and_loses_nothing(
    platform: Platform, callers: Callers
) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    padding = "x" * 20_000
    total = QUEUE_FRAMES * 3
    async with (
        listening(platform) as url,
        stream(url, token) as slow,
        stream(url, token) as quick,
    ):
        await _live(platform, 2)
        for _ in range(total // 32):
            await happen(platform, count=32, data={"pad": padding})
            assert len(await quick.take(32)) == 32
        left_behind = [s for s in hub_of(platform)._subscriptions if not s.live]
        assert len(left_behind) == 1
        assert all(len(s._queue) <= QUEUE_FRAMES for s in hub_of(platform)._subscriptions)
        ids = [int(m["sse_id"]) for m in await slow.take(total)]
    assert ids == list(range(1, total + 1))


async def test_a_reader_that_takes_nothing_any_more_is_let_go_and_can_resume(
    platform: Platform, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    hub = hub_of(platform)
    async with listening(platform) as url:
        async with stream(url, token) as stuck:
            await _live(platform, 1)
            (subscription,) = hub._subscriptions

            looks: list[float | None] = []

            async def blocked() -> bool:
                """Whether one message could not be sent while several more came."""
                await happen(platform, count=16, data={"pad": "x" * 50_000})
                looks.append(subscription.blocked_since)
                return looks[-1] is not None and looks[-5:] == looks[-1:] * 5

            await eventually(blocked)
            monkeypatch.setattr(stream_module, "_STUCK_SECONDS", 0.0)
            await hub.beat()

            async def forgotten() -> bool:
                return not hub._subscriptions

            await eventually(forgotten)
            first = await stuck.next()
        async with stream(url, token, last_id=first["sse_id"]) as again:
            assert int((await again.next())["sse_id"]) == int(first["sse_id"]) + 1


async def test_a_gap_is_said(platform: Platform, callers: Callers) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    await happen(platform, count=10)
    await numbered(platform, 10)
    await platform.db.execute("DELETE FROM events WHERE seq <= 6")
    async with listening(platform) as url:
        async with stream(url, token, after=2) as reader:
            first, second = await reader.take(2)
            assert first["sse_type"] == "stream.gap"
            assert (first["after"], first["first_kept"]) == (2, 7)
            assert second["sse_id"] == "7"
        async with stream(url, token, after=500) as reader:
            assert (await reader.next())["first_kept"] == 11
            await happen(platform)
            assert (await reader.next())["sse_id"] == "11"
        async with stream(url, token, after=6) as reader:
            assert (await reader.next())["sse_id"] == "7"


async def test_a_heartbeat_carries_the_place_to_resume(
    platform: Platform, callers: Callers
) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    async with listening(platform) as url, stream(url, token) as reader:
        await _live(platform, 1)
        await happen(platform, OTHER_ORG, count=5)
        await numbered(platform, 5)

        async def offered() -> bool:
            return hub_of(platform).offered == 5

        await eventually(offered)
        await hub_of(platform).beat()
        await happen(platform)
        await reader.next()
        assert set(reader.comments) == {": heartbeat"}  # it beats by itself, too


async def test_the_stream_ends_when_the_caller_may_no_longer_read(
    platform: Platform, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "RECHECK_SECONDS", 0.0)
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    async with listening(platform) as url, stream(url, token) as reader:
        await _live(platform, 1)
        await happen(platform)
        await reader.next()
        callers.remove(token)
        await hub_of(platform).beat()
        with pytest.raises(EOFError):
            await reader.next()
        assert reader.comments[-1] == ": ends: unauthenticated"
    assert not hub_of(platform)._subscriptions


async def test_the_stream_ends_with_the_process(platform: Platform, callers: Callers) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    async with listening(platform) as url, stream(url, token) as reader:
        await _live(platform, 1)
        platform.signals.finish()
        with pytest.raises(EOFError):
            await reader.next()


async def test_a_client_that_goes_away_is_forgotten(platform: Platform, callers: Callers) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    hub = hub_of(platform)
    async with listening(platform) as url:
        async with stream(url, token):
            await _live(platform, 1)

        async def forgotten() -> bool:
            return not hub._subscriptions and not hub._streams_of

        await eventually(forgotten)


async def test_streams_are_bounded_per_caller(platform: Platform, callers: Callers) -> None:
    token = callers.add(RoleName.PROJECT_VIEWER, PROJECT)
    hub_of(platform)._streams_of[token] = platform.settings.event_streams_per_caller
    async with listening(platform) as url, httpx2.AsyncClient(timeout=60) as client:
        headers = {"Authorization": f"Bearer {token}"}
        answer = await client.get(f"{url}/events/stream", headers=headers)
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "5"
    hub_of(platform)._streams_of.clear()


async def test_a_list_pages_both_ways(
    platform: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    token = callers.add(RoleName.TENANT_ADMIN, Place(ORG))
    for place in (PROJECT, OTHER_PROJECT, OTHER_ORG):
        await happen(platform, place, count=3)
    await numbered(platform, 9)
    for query, expected in (({}, [6, 5, 4, 3, 2, 1]), ({"after": 0}, [1, 2, 3, 4, 5, 6])):
        found: list[int] = []
        cursor: str | None = None
        while True:
            params = query | {"limit": 4} | ({"cursor": cursor} if cursor else {})
            headers = {"Authorization": f"Bearer {token}"}
            answer = await client.get("/events", params=params, headers=headers)
            found += [int(event["sequence"]) for event in answer.json()["items"]]
            cursor = answer.json()["next_cursor"]
            if cursor is None:
                break
        assert found == expected


async def test_who_may_read_no_events_is_refused(
    platform: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    token = callers.add(frozenset({Permission.TENANT_READ}), PROJECT)
    for path in ("/events", "/events/stream"):
        answer = await client.get(path, headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
        assert (await client.get(path)).status_code == 401
    admin = callers.add(RoleName.PLATFORM_ADMIN)
    headers = {"Authorization": f"Bearer {admin}"}
    bad = await client.get("/events", params={"cursor": "bm90YW51bWJlcg"}, headers=headers)
    assert json.loads(bad.content)["code"] == "invalid_cursor"
    assert (await client.get("/events?nonsense=1", headers=headers)).status_code == 422


async def _live(platform: Platform, count: int) -> None:
    """Wait until so many streams are open and have caught up."""

    async def ready() -> bool:
        subscriptions = hub_of(platform)._subscriptions
        return len([s for s in subscriptions if s.live]) >= count

    await eventually(ready)


async def _write(platform: Platform, count: int) -> None:
    for _ in range(count):
        await happen(platform)
