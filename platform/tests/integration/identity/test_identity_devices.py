"""Signing a terminal in: the code it shows, the person who decides, the token it fetches once."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from identity_fixtures import Browser, MovingClock, World, tenant_made, tenant_scope, world_running
from oidc_fixtures import RunningProvider, provider_running

from gpuaas_contract.device_sign_in import CODE_LETTERS
from gpuaas_platform.kernel.clock import Clock

_NAME = "gpuaas on laptop"


async def begun(world: World, **more: Any) -> dict[str, Any]:
    return await world.browser().made("/device-sign-ins", {"name": _NAME, **more})


async def looked(world: World, secret: str) -> dict[str, Any]:
    answer = await world.browser().post("/device-sign-ins/redeem", {"secret": secret})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def decided(person: Browser, code: str, *, approve: bool = True) -> dict[str, Any]:
    answer = await person.post(f"/device-sign-ins/{code}/decide", {"approve": approve})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_person_lets_a_terminal_in(world: World, admin: Browser) -> None:
    wanted = await begun(world, expires_in_seconds=3600)
    code = wanted["user_code"]
    assert len(code) == 9
    assert set(code) <= {*CODE_LETTERS, "-"}
    page = urlsplit(wanted["verification_url"])
    assert (page.netloc, page.path, parse_qs(page.query)) == ("", "/device", {"code": [code]})
    assert (await looked(world, wanted["secret"])) == {"status": "pending", "token": None}

    typed = code.lower().replace("-", " ")
    shown = await admin.seen(f"/device-sign-ins/{typed}")
    assert (shown["name"], shown["source"], shown["status"]) == (_NAME, "127.0.0.1", "pending")
    assert shown["token_seconds"] == 3600
    assert (await decided(admin, code))["status"] == "approved"

    answer = await looked(world, wanted["secret"])
    assert answer["status"] == "approved"
    token = answer["token"]
    assert token["secret"].startswith("gpp_")
    me = await world.browser().with_token(token["secret"]).seen("/whoami")
    assert me["id"] == (await admin.seen("/whoami"))["id"]
    tokens = (await admin.seen("/personal-tokens"))["items"]
    assert [one["name"] for one in tokens if one["id"] == token["id"]] == [_NAME]


async def test_the_token_is_fetched_once(world: World, admin: Browser) -> None:
    wanted = await begun(world)
    await decided(admin, wanted["user_code"])
    terminal = world.browser()
    body = {"secret": wanted["secret"]}
    key = "a key of the terminal's own making"
    first = await terminal.post("/device-sign-ins/redeem", body, idempotency_key=key)
    again = await terminal.post("/device-sign-ins/redeem", body)
    assert (again.status_code, again.json()["code"]) == (401, "sign_in_failed")
    # A terminal whose answer was lost on the way asks again with the same key.
    lost = await terminal.post("/device-sign-ins/redeem", body, idempotency_key=key)
    assert lost.json() == first.json()
    assert len((await admin.seen("/personal-tokens"))["items"]) == 1


async def test_a_terminal_that_is_refused_gets_nothing(world: World, admin: Browser) -> None:
    wanted = await begun(world)
    assert (await decided(admin, wanted["user_code"], approve=False))["status"] == "denied"
    assert (await looked(world, wanted["secret"])) == {"status": "denied", "token": None}
    again = await admin.post(f"/device-sign-ins/{wanted['user_code']}/decide", {"approve": True})
    assert (again.status_code, again.json()["code"]) == (409, "state_conflict")


async def test_it_ends_with_its_time(world: World, admin: Browser, clock: MovingClock) -> None:
    late, waits = await begun(world), await begun(world)
    await decided(admin, late["user_code"])
    clock.advance(minutes=11)
    for one in (late, waits):
        assert (await looked(world, one["secret"])) == {"status": "expired", "token": None}
    answer = await admin.post(f"/device-sign-ins/{waits['user_code']}/decide", {"approve": True})
    assert answer.status_code == 409


async def test_only_a_session_decides(world: World, admin: Browser) -> None:
    wanted = await begun(world)
    token = await admin.made("/personal-tokens", {"name": "script"})
    script = world.browser().with_token(token["secret"])
    path = f"/device-sign-ins/{wanted['user_code']}"
    assert (await script.get(path)).status_code == 404
    assert (await script.post(f"{path}/decide", {"approve": True})).status_code == 404
    assert (await world.browser().get(path)).status_code == 401
    forged = await admin.post(f"{path}/decide", {"approve": True}, X_CSRF_Token="wrong")
    assert forged.status_code == 403
    assert (await looked(world, wanted["secret"]))["status"] == "pending"


async def test_a_person_who_left_meanwhile_is_not_let_in(world: World, admin: Browser) -> None:
    wanted = await begun(world)
    org_id, _ = await tenant_made(admin, "acme")
    person = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    await decided(person, wanted["user_code"])
    gone = await admin.patch(f"/users/{person.user_id}", {"active": False}, If_Match="*")
    assert gone.status_code == 200, gone.text
    answer = await world.browser().post("/device-sign-ins/redeem", {"secret": wanted["secret"]})
    assert answer.status_code == 401


async def test_guessing_codes_is_slowed_down(world: World, admin: Browser) -> None:
    answers = [(await admin.get("/device-sign-ins/BBBB-BBBB")).status_code for _ in range(12)]
    assert answers[0] == 404
    assert answers[-1] == 429
    wanted = await begun(world)
    blocked = await admin.post(f"/device-sign-ins/{wanted['user_code']}/decide", {"approve": True})
    assert blocked.status_code == 429


async def test_an_address_begins_only_so_many(world: World) -> None:
    browser = world.browser("192.0.2.7")
    answers = [await browser.post("/device-sign-ins", {"name": _NAME}) for _ in range(40)]
    assert {one.status_code for one in answers} == {201, 429}
    assert (await world.browser("192.0.2.8").post("/device-sign-ins", {"name": _NAME})).is_success


async def test_everything_about_it_is_audited(world: World, admin: Browser) -> None:
    wanted = await begun(world)
    await decided(admin, wanted["user_code"])
    token = (await looked(world, wanted["secret"]))["token"]
    entries = (await admin.seen("/audit"))["items"]
    mine = [one for one in entries if one["target_id"] in {wanted["id"], token["id"]}]
    me = (await admin.seen("/whoami"))["id"]
    assert {(one["action"].removeprefix("identity."), one["actor_id"] == me) for one in mine} == {
        ("device_sign_in.create", False),
        ("device_sign_in.decide", True),
        ("device_sign_in.redeem", True),
        ("personal_token.create", True),
    }
    assert wanted["secret"] not in str(entries)


@pytest.fixture(scope="module")
def provider() -> Iterator[RunningProvider]:
    with provider_running() as made:
        yield made


@pytest.fixture
async def oidc_world(
    database_url: str, provider: RunningProvider, tmp_path: Path
) -> AsyncIterator[World]:
    async with world_running(database_url, provider.settings(tmp_path), Clock()) as made:
        yield made


async def test_somebody_of_an_organisation_comes_by_its_provider(
    oidc_world: World, provider: RunningProvider
) -> None:
    wanted = await begun(oidc_world)
    page = f"/device?code={wanted['user_code']}"
    browser = oidc_world.browser()
    start = await browser.get("/auth/oidc/start", return_to=page)
    back = await browser.client.get(await provider.visit(start.headers["location"], "ada"))
    assert back.headers["location"] == page
    await decided(browser, wanted["user_code"])
    token = (await looked(oidc_world, wanted["secret"]))["token"]
    me = await oidc_world.browser().with_token(token["secret"]).seen("/whoami")
    assert me["email"] == "ada@example.org"
