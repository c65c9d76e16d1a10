"""Webhooks: signed, in order, again and again until they arrive; given up, revived, disabled."""

import asyncio
import socket
from collections.abc import AsyncIterator
from ipaddress import IPv4Network
from typing import Any

import httpx2
import pytest
from eventually import eventually
from journal_fixtures import Callers, Hands, happen, numbered
from receiver_fixtures import Receiver, receiving
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.events.retention import retention_turn
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.outbound import Guard
from gpuaas_platform.kernel.settings import Settings


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhook_allowed_networks": (IPv4Network("127.0.0.0/8"),)})


@pytest.fixture(autouse=True)
async def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test looks a name up outside this machine."""
    loop = asyncio.get_running_loop()
    real = loop.getaddrinfo

    async def local(host: str, *args: Any, **more: Any) -> Any:
        if not host.replace(".", "").isdigit():
            raise socket.gaierror(socket.EAI_NONAME, "not looked up in tests")
        return await real(host, *args, **more)

    monkeypatch.setattr(loop, "getaddrinfo", local)


@pytest.fixture
async def project(platform: Platform) -> Place:
    return await project_make(platform, "acme", "research")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


class Admin:
    """A project's admin with a client."""

    def __init__(self, client: httpx2.AsyncClient, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    async def ask(self, method: str, path: str, status: int = 200, **more: Any) -> Any:
        headers = self._headers | more.pop("headers", {})
        answer = await self._client.request(method, path, headers=headers, **more)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def hook(self, project: Place, url: str, **more: Any) -> Any:
        path = f"/projects/{project.project_id}/webhooks"
        return await self.ask("POST", path, 201, json={"url": url, **more})


@pytest.fixture
def admin(client: httpx2.AsyncClient, callers: Callers, project: Place) -> Admin:
    return Admin(client, callers.add(RoleName.PROJECT_ADMIN, project))


async def test_events_arrive_signed_and_in_order(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver
) -> None:
    made = await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    for number in range(6):
        await happen(platform, project, data={"n": number})
    await _arrived(receiver, 6)
    assert receiver.numbers == list(range(6))
    first = receiver.received[0]
    assert first.headers["content-type"] == "application/cloudevents+json"
    assert first.headers["webhook-id"] == first.event["id"]
    assert all(item.signed_by(made["secret"]) for item in receiver.received)
    assert not first.signed_by("whsec_AAAA")
    hook = await admin.ask("GET", f"/webhooks/{made['webhook']['id']}")
    assert (hook["failures"], hook["status"], "secret" in hook) == (0, "active", False)
    sealed = await platform.db.fetchval("SELECT secret FROM webhooks")
    assert made["secret"].encode() not in sealed


async def test_a_webhook_gets_what_it_asks_for_of_its_own_place(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver
) -> None:
    sibling = await project_make(platform, "acme", "other")
    stranger = await project_make(platform, "rival", "secret")
    await admin.hook(
        project, receiver.url, filter={"types": ["apps.member"], "app_instance_id": "inst_2"}
    )
    wanted: dict[str, Any] = {"type": "apps.member.ready", "app_instance_id": "inst_2"}
    for number, (place, event) in enumerate(
        [
            (sibling, wanted),
            (stranger, wanted),
            (project, {}),
            (project, {"type": "apps.member.ready"}),
            (project, wanted),
        ]
    ):
        await happen(platform, place, data={"n": number}, **event)
    await _arrived(receiver, 1)
    assert receiver.numbers == [4]


async def test_a_tenants_webhook_gets_all_its_projects_events(
    platform: Platform, client: httpx2.AsyncClient, callers: Callers, receiver: Receiver
) -> None:
    first = await project_make(platform, "acme", "one")
    second = await project_make(platform, "acme", "two")
    stranger = await project_make(platform, "rival", "secret")
    owner = Admin(client, callers.add(RoleName.TENANT_ADMIN, Place(first.org_id)))
    body = {"url": receiver.url, "filter": {"types": ["apps"]}}
    await owner.ask("POST", f"/tenants/{first.org_id}/webhooks", 201, json=body)
    for number, place in enumerate((first, stranger, second)):
        await happen(platform, place, data={"n": number})
    await _arrived(receiver, 2)
    assert receiver.numbers == [0, 2]


async def test_what_fails_is_tried_again_later_and_nothing_overtakes_it(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver, clock: Hands
) -> None:
    receiver.answers = [500, 302, 503]
    made = await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    for number in range(3):
        await happen(platform, project, data={"n": number})
    for attempts in (1, 2, 3):
        await _arrived(receiver, attempts)
        await _failed(platform, attempts)
        clock.advance(minutes=11)
        platform.signals.send(("events",))
    await _arrived(receiver, 6)
    assert receiver.numbers == [0, 0, 0, 0, 1, 2]
    ids = {item.headers["webhook-id"] for item in receiver.received[:4]}
    assert len(ids) == 1, "the same event has the same id"
    path = f"/webhooks/{made['webhook']['id']}"

    async def written() -> Any:  # when the target has answered
        found = (await admin.ask("GET", f"{path}/deliveries"))["items"]
        return found if [d["status"] for d in found] == ["delivered"] * 3 else None

    deliveries = await eventually(written)
    assert [(d["status"], d["attempts"]) for d in deliveries] == [
        ("delivered", 1),
        ("delivered", 1),
        ("delivered", 4),
    ]
    assert (await admin.ask("GET", path))["failing_since"] is None


async def test_a_target_that_asks_for_time_gets_it(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver, clock: Hands
) -> None:
    receiver.answers, receiver.headers = [429], [(b"retry-after", b"1800")]
    await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    await happen(platform, project, data={"n": 1})
    await _failed(platform, 1)
    wait = await platform.db.fetchval("SELECT next_attempt_at - updated_at FROM webhooks")
    assert 1700 < wait.total_seconds() < 1900


async def test_what_is_given_up_is_listed_and_gets_a_second_chance(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver, clock: Hands
) -> None:
    limit = platform.settings.webhook_attempts
    receiver.answers = [400] * limit
    made = await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    await happen(platform, project, data={"n": 0})
    await happen(platform, project, data={"n": 1})
    for attempts in range(1, limit):
        await _failed(platform, attempts)
        clock.advance(minutes=11)
        platform.signals.send(("events",))
    await _arrived(receiver, limit + 1)
    assert receiver.numbers == [0] * limit + [1], "the next event goes on"
    path = f"/webhooks/{made['webhook']['id']}"
    dead = (await admin.ask("GET", f"{path}/deliveries?status=dead"))["items"]
    assert [(d["attempts"], d["response_status"]) for d in dead] == [(limit, 400)]
    await platform.db.execute("DELETE FROM events")  # a dead delivery keeps its event
    redeliver = f"/webhook-deliveries/{dead[0]['id']}/redeliver"
    assert await admin.ask("POST", redeliver, 202) == {"count": 1}
    await _arrived(receiver, limit + 2)
    assert receiver.numbers[-1] == 0
    assert receiver.received[-1].signed_by(made["secret"])

    async def none_dead() -> bool:
        return not (await admin.ask("GET", f"{path}/deliveries?status=dead"))["items"]

    await eventually(none_dead)
    await admin.ask("POST", redeliver, 409)
    assert await admin.ask("POST", f"{path}/redeliver", 202) == {"count": 0}


async def test_a_target_that_takes_nothing_for_days_is_disabled_and_can_come_back(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver, clock: Hands
) -> None:
    receiver.default = 500
    made = await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    path = f"/webhooks/{made['webhook']['id']}"
    await happen(platform, project, data={"n": 7})
    await _failed(platform, 1)
    clock.advance(hours=73)
    platform.signals.send(("events",))

    async def disabled() -> bool:
        return bool((await admin.ask("GET", path))["status"] == "disabled")

    await eventually(disabled)
    assert "72 hours" in (await admin.ask("GET", path))["disabled_reason"]
    told = await platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE action = 'events.webhook.disable'"
    )
    assert told == 1
    receiver.default = 204
    count = len(receiver.received)
    await happen(platform, project, data={"n": 8})
    await admin.ask("PATCH", path, json={"status": "active"})
    await _arrived(receiver, count + 2)
    assert receiver.numbers[count:] == [7, 8], "from where it stopped"


async def test_events_swept_while_it_was_disabled_are_said_to_be_missing(
    platform: Platform, admin: Admin, project: Place
) -> None:
    made = await admin.hook(project, "https://receiver.example/hook")
    path = f"/webhooks/{made['webhook']['id']}"
    await admin.ask("PATCH", path, json={"status": "disabled"})
    await happen(platform, project, count=5)
    await numbered(platform, 7)
    await platform.db.execute("DELETE FROM events")
    await admin.ask("PATCH", path, json={"status": "active"})

    async def told() -> Any:
        return (await admin.ask("GET", "/events?type=events.webhook.gap"))["items"]

    gap = (await eventually(told))[0]["data"]
    assert (gap["after"], gap["first_kept"]) == (made["webhook"]["delivered_sequence"], 8)


async def test_a_target_that_is_gone_is_disabled_at_once(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver
) -> None:
    receiver.answers = [410]
    made = await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    await happen(platform, project)

    async def disabled() -> bool:
        hook = await admin.ask("GET", f"/webhooks/{made['webhook']['id']}")
        return bool(hook["status"] == "disabled")

    await eventually(disabled)


async def test_a_replaced_secret_signs_beside_the_new_one_for_a_day(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver, clock: Hands
) -> None:
    made = await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    path = f"/webhooks/{made['webhook']['id']}"
    replaced = await admin.ask("POST", f"{path}/rotate-secret")
    assert replaced["secret"] != made["secret"]
    await happen(platform, project)
    await _arrived(receiver, 1)
    assert receiver.received[0].signed_by(made["secret"])
    assert receiver.received[0].signed_by(replaced["secret"])
    clock.advance(hours=25)
    await happen(platform, project)
    await _arrived(receiver, 2)
    assert not receiver.received[1].signed_by(made["secret"])
    assert receiver.received[1].signed_by(replaced["secret"])


async def test_a_repeated_create_shows_the_same_secret_and_stores_it_sealed(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver
) -> None:
    key = {"Idempotency-Key": "create-this-webhook-once"}
    first = await admin.hook(project, receiver.url, description="x")
    again = [
        await admin.ask(
            "POST",
            f"/projects/{project.project_id}/webhooks",
            201,
            json={"url": receiver.url},
            headers=key,
        )
        for _ in range(2)
    ]
    assert again[0] == again[1]
    assert again[0]["webhook"]["id"] != first["webhook"]["id"]
    stored = await platform.db.fetchval("SELECT answer FROM idempotency")
    assert again[0]["secret"].encode() not in stored


@pytest.mark.parametrize(
    "url",
    [
        "https://10.0.0.1/hook",
        "https://169.254.169.254/latest",
        "https://[::1]/hook",
        "https://[::ffff:10.0.0.1]/hook",
        "https://[64:ff9b::a00:1]/hook",
        "http://8.8.8.8/hook",
        "https://user:word@receiver.example/hook",
        "https:///hook",
        "ftp://receiver.example/hook",
        "https://receiver.example:99999/hook",
    ],
)
async def test_a_target_inside_is_refused(admin: Admin, project: Place, url: str) -> None:
    path = f"/projects/{project.project_id}/webhooks"
    refused = await admin.ask("POST", path, 422, json={"url": url})
    assert refused["errors"][0]["pointer"] == "/url"


@pytest.mark.parametrize("leads_to", ["10.1.2.3", "127.0.0.1", None], ids=["in", "closed", "none"])
async def test_a_target_that_cannot_be_reached_tells_nothing_of_the_network_inside(
    platform: Platform,
    admin: Admin,
    project: Place,
    monkeypatch: pytest.MonkeyPatch,
    leads_to: str | None,
) -> None:
    """A name that leads inside, one whose port is closed and one that is unknown fail alike."""
    made = await admin.hook(project, "https://receiver.example/hook", filter={"types": ["apps"]})

    async def rebound(*_: Any, **__: Any) -> list[Any]:
        if leads_to is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (leads_to, 9))]

    if leads_to == "127.0.0.1":  # the port alone is in the way
        monkeypatch.setattr(Guard, "allows", lambda *_, **__: True)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", rebound)
    await happen(platform, project)
    await _failed(platform, 1)
    path, said = f"/webhooks/{made['webhook']['id']}", "the target cannot be reached"
    assert (await admin.ask("GET", path))["last_error"] == said
    assert (await admin.ask("GET", f"{path}/deliveries"))["items"][0]["error"] == said


async def test_others_may_not_touch_it(
    platform: Platform,
    admin: Admin,
    project: Place,
    client: httpx2.AsyncClient,
    callers: Callers,
) -> None:
    made = await admin.hook(project, "https://receiver.example/hook")
    path = f"/webhooks/{made['webhook']['id']}"
    stranger = await project_make(platform, "rival", "theirs")
    cases = [
        (callers.add(RoleName.PROJECT_ADMIN, stranger), 404),
        (callers.add(RoleName.PROJECT_MEMBER, project), 403),
    ]
    for token, status in cases:
        somebody = Admin(client, token)
        await somebody.ask("GET", path, status)
        await somebody.ask("GET", f"{path}/deliveries", status)
        await somebody.ask("PATCH", path, status, json={"description": "x"})
        await somebody.ask("DELETE", path, status)
        await somebody.ask("POST", f"{path}/rotate-secret", status)
        await somebody.ask("POST", f"{path}/redeliver", status)
        where = f"/projects/{project.project_id}/webhooks"
        await somebody.ask("GET", where, status)
        await somebody.ask("POST", where, status, json={"url": "https://x.example/"})


async def test_what_is_told_of_a_change_carries_its_trace(
    platform: Platform, admin: Admin, project: Place
) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    path = f"/projects/{project.project_id}/webhooks"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    body = {"url": "https://receiver.example/hook?token=hidden"}
    await admin.ask("POST", path, 201, json=body, headers=headers)

    async def told() -> Any:
        return (await admin.ask("GET", "/events?type=events.webhook.created"))["items"]

    event = (await eventually(told))[0]
    assert event["traceparent"].split("-")[1] == trace
    assert event["data"]["project_id"] == project.project_id
    assert event["data"]["host"] == "receiver.example"
    assert "token=hidden" not in str(event), "a receiver's path may hold a secret"


async def test_a_change_needs_the_revision_it_was_made_against(
    admin: Admin, project: Place
) -> None:
    made = await admin.hook(project, "https://receiver.example/hook")
    path = f"/webhooks/{made['webhook']['id']}"
    stale = {"If-Match": '"1"'}
    changed = await admin.ask("PATCH", path, json={"description": "ours"}, headers=stale)
    assert (changed["revision"], changed["description"]) == (2, "ours")
    await admin.ask("PATCH", path, 412, json={"description": "late"}, headers=stale)
    await admin.ask("DELETE", path, 412, headers=stale)
    await admin.ask("DELETE", path, 204)
    await admin.ask("GET", path, 404)


async def test_deliveries_are_bounded(
    platform: Platform, admin: Admin, project: Place, receiver: Receiver, clock: Hands
) -> None:
    await admin.hook(project, receiver.url, filter={"types": ["apps"]})
    await happen(platform, project, count=5)
    await _arrived(receiver, 5)

    async def kept() -> int:
        return int(await platform.db.fetchval("SELECT count(*) FROM webhook_deliveries"))

    async def all_kept() -> bool:
        return await kept() == 5

    await eventually(all_kept)
    clock.advance(days=15)

    async def none_kept() -> bool:  # the platform's own sweep may have the turn
        await retention_turn(platform)
        return await kept() == 0

    await eventually(none_kept)


async def _arrived(receiver: Receiver, count: int) -> None:
    async def enough() -> bool:
        return len(receiver.received) >= count

    await eventually(enough)


async def _failed(platform: Platform, failures: int) -> None:
    """Wait until the failure is written down and the webhook is free again."""

    async def seen() -> bool:
        row = await platform.db.fetchrow("SELECT failures, lease FROM webhooks")
        return row is not None and row["failures"] >= failures and row["lease"] is None

    await eventually(seen)
