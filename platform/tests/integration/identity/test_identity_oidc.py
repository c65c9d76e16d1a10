"""Signing in through a real OIDC provider: code, PKCE, state, nonce, keys that rotate, groups."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from identity_fixtures import Browser, World, tenant_scope, world_running
from oidc_fixtures import RunningProvider, provider_running

from gpuaas_contract.identity import LOOPBACK_OIDC_COOKIE, LOOPBACK_SESSION_COOKIE
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.kernel.clock import Clock


class ShiftedClock(Clock):
    """The real time, moved: the provider's tokens carry real times."""

    def __init__(self) -> None:
        self.shift = timedelta()

    def now(self) -> datetime:
        return super().now() + self.shift


@pytest.fixture(scope="module")
def provider() -> Iterator[RunningProvider]:
    with provider_running() as made:
        yield made


@pytest.fixture
def moved() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
async def oidc_world(
    database_url: str, provider: RunningProvider, tmp_path: Path, moved: ShiftedClock
) -> AsyncIterator[World]:
    async with world_running(database_url, provider.settings(tmp_path), moved) as made:
        yield made


async def begin(world: World, return_to: str = "/instances?x=1") -> tuple[Browser, str]:
    browser = world.browser()
    answer = await browser.get("/auth/oidc/start", return_to=return_to)
    assert answer.status_code == 303, answer.text
    return browser, answer.headers["location"]


async def sign_in(world: World, provider: RunningProvider, name: str) -> tuple[Browser, str]:
    browser, url = await begin(world)
    back = await provider.visit(url, name)
    answer = await browser.client.get(back)
    assert answer.status_code == 303, answer.text
    return browser, answer.headers["location"]


async def test_a_person_signs_in_and_becomes_a_user(
    oidc_world: World, provider: RunningProvider
) -> None:
    methods = await oidc_world.browser().seen("/auth/methods")
    assert methods["oidc"]["start_url"] == "/api/v1/auth/oidc/start"
    browser, location = await sign_in(oidc_world, provider, "ada")
    assert location == "/instances?x=1"
    me = await browser.seen("/whoami")
    assert (me["email"], me["display_name"], me["bindings"]) == ("ada@example.org", "Ada", [])
    again, _ = await sign_in(oidc_world, provider, "ada")
    assert (await again.seen("/whoami"))["id"] == me["id"]


async def test_keys_that_rotate_are_fetched_again(
    oidc_world: World, provider: RunningProvider, moved: ShiftedClock
) -> None:
    await sign_in(oidc_world, provider, "ada")
    for _ in range(2):
        await provider.change(rotate=True)
        moved.shift += timedelta(seconds=6)
        browser, location = await sign_in(oidc_world, provider, "ada")
        assert location == "/instances?x=1"
        assert (await browser.get("/whoami")).status_code == 200


async def test_unknown_keys_are_not_asked_for_in_a_flood(
    oidc_world: World, provider: RunningProvider
) -> None:
    found = parts_of(oidc_world.platform).provider
    assert found is not None
    fetched = 0
    plain = found._keys_fetched

    async def counted(now: datetime) -> Any:
        nonlocal fetched
        fetched += 1
        return await plain(now)

    found._keys_fetched = counted  # type: ignore[method-assign] # counts, and does the same
    now = oidc_world.platform.clock.now()
    for number in range(20):
        await found._keys_with(f"made-up-{number}", now)
    assert fetched == 2  # the first look, and one more for a key nobody has seen


async def test_groups_carry_roles_and_lose_them(
    oidc_world: World, provider: RunningProvider
) -> None:
    admin = await oidc_world.admin()
    me = await admin.seen("/whoami")
    tenant = await admin.made("/tenants", {"name": "acme", "admin_user_id": me["id"]})
    admin = await oidc_world.signed_in("root@example.org")
    mapping = {"group": "staff", "role": "project_viewer", "scope": tenant_scope(tenant["id"])}
    made = await admin.made("/group-mappings", mapping)
    await provider.change(groups={"staff": ["bob"]})

    browser, _ = await sign_in(oidc_world, provider, "bob")
    who = await browser.seen("/whoami")
    assert [(held["role"], held["source"]) for held in who["bindings"]] == [
        ("project_viewer", "group")
    ]
    # A mapping carries a role; whose the account is, it does not decide.
    assert who["home"]["kind"] == "platform"
    by_hand = await admin.delete(f"/role-bindings/{who['bindings'][0]['binding_id']}")
    assert by_hand.json()["code"] == "state_conflict"

    await provider.change(groups={"staff": ["ada"]})
    browser, _ = await sign_in(oidc_world, provider, "bob")
    assert (await browser.seen("/whoami"))["bindings"] == []

    await provider.change(groups={"staff": ["bob"]})
    browser, _ = await sign_in(oidc_world, provider, "bob")
    assert len((await browser.seen("/whoami"))["bindings"]) == 1
    assert (await admin.delete(f"/group-mappings/{made['id']}")).status_code == 204
    assert (await browser.seen("/whoami"))["bindings"] == []
    await provider.change(groups={"staff": []})


async def test_another_browser_cannot_finish_a_sign_in(
    oidc_world: World, provider: RunningProvider
) -> None:
    _, url = await begin(oidc_world)
    back = await provider.visit(url, "ada")
    victim = oidc_world.browser()
    answer = await victim.client.get(back)
    assert answer.headers["location"].startswith("/sign-in?error=sign_in_failed")
    assert victim.client.cookies.get(LOOPBACK_SESSION_COOKIE) is None


async def test_a_state_of_another_sign_in_is_refused(
    oidc_world: World, provider: RunningProvider
) -> None:
    browser, url = await begin(oidc_world)
    back = await provider.visit(url, "ada")
    query = {k: v[0] for k, v in parse_qs(urlsplit(back).query).items()} | {"state": "x"}
    answer = await browser.get("/auth/oidc/callback", **query)
    assert "error=sign_in_failed" in answer.headers["location"]


async def test_a_stolen_code_is_worth_nothing_without_its_verifier(
    oidc_world: World, provider: RunningProvider
) -> None:
    _, url = await begin(oidc_world)
    code = parse_qs(urlsplit(await provider.visit(url, "ada")).query)["code"][0]
    thief, own = await begin(oidc_world)
    state = parse_qs(urlsplit(own).query)["state"][0]
    answer = await thief.client.get(
        "/auth/oidc/callback?" + urlencode({"code": code, "state": state})
    )
    assert "error=sign_in_failed" in answer.headers["location"]


async def test_an_old_id_token_is_refused(
    oidc_world: World, provider: RunningProvider, moved: ShiftedClock
) -> None:
    browser, url = await begin(oidc_world)
    back = await provider.visit(url, "ada")
    moved.shift += timedelta(days=30)
    answer = await browser.client.get(back)
    assert "error=sign_in_failed" in answer.headers["location"]


async def test_an_unverified_address_of_somebody_here_is_not_taken_over(
    oidc_world: World, provider: RunningProvider
) -> None:
    admin = await oidc_world.admin()
    await admin.made("/users", {"email": "Ada@Example.org", "password": "correct horse battery"})
    _, location = await sign_in(oidc_world, provider, "ada")
    assert "error=sign_in_failed" in location


async def test_a_trusted_address_links_and_a_deactivated_person_stays_out(
    database_url: str, provider: RunningProvider, tmp_path: Path
) -> None:
    settings = provider.settings(tmp_path, oidc_trust_email=True, oidc_create_users=False)
    async with world_running(database_url, settings, Clock()) as world:
        admin = await world.admin()
        made = await admin.made("/users", {"email": "ada@example.org"})
        browser, _ = await sign_in(world, provider, "ada")
        assert (await browser.seen("/whoami"))["id"] == made["id"]
        _, location = await sign_in(world, provider, "bob")
        assert "error=sign_in_failed" in location
        await admin.patch(f"/users/{made['id']}", {"active": False})
        _, location = await sign_in(world, provider, "ada")
        assert "error=sign_in_failed" in location
        denied = await world.platform.db.fetch(
            "SELECT target_id FROM audit_entries WHERE action = 'identity.session.create'"
            " AND outcome = 'denied' ORDER BY id"
        )
        assert [row["target_id"] for row in denied] == ["unknown", made["id"]]


@pytest.mark.parametrize("elsewhere", ["https://evil.example", "//evil.example", "/\\evil", "x"])
async def test_only_our_own_pages_are_returned_to(
    oidc_world: World, provider: RunningProvider, elsewhere: str
) -> None:
    browser, url = await begin(oidc_world, elsewhere)
    answer = await browser.client.get(await provider.visit(url, "ada"))
    assert answer.headers["location"] == "/"
    assert browser.client.cookies.get(LOOPBACK_OIDC_COOKIE) is None


async def test_a_silent_provider_is_said_to_be_unavailable(
    database_url: str, provider: RunningProvider, tmp_path: Path
) -> None:
    settings = provider.settings(tmp_path, oidc_issuer="http://127.0.0.1:1")
    async with world_running(database_url, settings, Clock()) as world:
        answer = await world.browser().get("/auth/oidc/start")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
