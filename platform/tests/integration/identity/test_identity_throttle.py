"""Guessing is slowed down where it comes from; the owner of the account gets in, and sees it."""

from typing import Any

from identity_fixtures import ADMIN, PASSWORD, Browser, MovingClock, World

from gpuaas_contract.identity import LOOPBACK_DEVICE_COOKIE

WRONG = {"email": ADMIN, "password": "wrong wrong wrong"}
RIGHT = {"email": ADMIN, "password": PASSWORD}
WAIT = "Too many attempts to sign in; wait a little."


async def guesses(world: World, address: str, count: int) -> list[int]:
    attacker = world.browser(address)
    return [(await attacker.post("/sessions", WRONG)).status_code for _ in range(count)]


async def events(world: World) -> list[dict[str, Any]]:
    rows = await world.platform.db.fetch(
        "SELECT data FROM (SELECT id, type, data FROM outbox UNION SELECT id, type, data"
        " FROM events) AS all_ WHERE type = 'identity.user.sign_ins_failed' ORDER BY id"
    )
    return [row["data"] for row in rows]


async def test_the_right_password_is_accepted_while_others_guess(
    world: World, admin: Browser
) -> None:
    for number in range(2, 14):
        await guesses(world, f"127.0.0.{number}", 6)
    blocked = await world.browser("127.0.0.2").post("/sessions", RIGHT)
    assert (blocked.status_code, blocked.json()["detail"]) == (429, WAIT)
    assert (await world.browser("127.0.0.99").post("/sessions", RIGHT)).status_code == 201


async def test_a_known_device_gets_in_from_the_address_of_those_who_guess(
    world: World, admin: Browser
) -> None:
    home = world.browser("127.0.0.5")
    assert (await home.post("/sessions", RIGHT)).status_code == 201
    await home.delete("/sessions/current")
    other = {"email": "nobody@example.org", "password": "wrong wrong wrong"}
    codes = [
        (await world.browser("127.0.0.5").post("/sessions", other)).status_code for _ in range(25)
    ]
    assert codes[-1] == 429
    stranger = await world.browser("127.0.0.5").post("/sessions", RIGHT)
    assert (stranger.status_code, stranger.json()["detail"]) == (429, WAIT)
    assert (await home.post("/sessions", RIGHT)).status_code == 201


async def test_a_known_device_is_throttled_too(world: World, admin: Browser) -> None:
    codes = [(await admin.post("/sessions", WRONG)).status_code for _ in range(7)]
    assert codes[:5] == [401] * 5
    assert codes[-1] == 429
    assert (await world.browser().post("/sessions", RIGHT)).status_code == 201


async def test_a_device_is_known_to_one_person_and_for_a_while(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    """Anything else in the cookie counts as no device at all."""
    await admin.made("/users", {"email": "ada@example.org", "password": PASSWORD})
    ada = {"email": "ada@example.org", "password": PASSWORD}
    mine = admin.client.cookies[LOOPBACK_DEVICE_COOKIE]
    forged = mine[:-4] + ("AAAA" if mine[-4:] != "AAAA" else "BBBB")
    await guesses(world, "127.0.0.6", 7)
    for cookie, body, wanted in (
        (mine, RIGHT, 201),
        (forged, RIGHT, 429),
        ("%%%", RIGHT, 429),
        (mine, ada, 201),  # ada's own first attempt from there
    ):
        browser = world.browser("127.0.0.6")
        browser.client.cookies.set(LOOPBACK_DEVICE_COOKIE, cookie)
        assert (await browser.post("/sessions", body)).status_code == wanted, cookie
    clock.advance(days=181)
    await guesses(world, "127.0.0.6", 7)
    late = world.browser("127.0.0.6")
    late.client.cookies.set(LOOPBACK_DEVICE_COOKIE, mine)
    assert (await late.post("/sessions", RIGHT)).status_code == 429


async def test_one_network_of_ipv6_is_one_origin(world: World, admin: Browser) -> None:
    answers = [
        await world.browser(f"2001:db8:0:1::{n}", "https://test").post("/sessions", WRONG)
        for n in range(1, 8)
    ]
    assert [answer.status_code for answer in answers][-1] == 429
    other = world.browser("2001:db8:0:2::1", "https://test")
    assert (await other.post("/sessions", RIGHT)).status_code == 201


async def test_many_origins_get_fewer_attempts_each(world: World, admin: Browser) -> None:
    """A guess from each of many addresses soon costs a wait at each of them."""
    for number in range(1, 51):
        assert await guesses(world, f"127.2.0.{number}", 1) == [401]
    assert await guesses(world, "127.2.1.1", 4) == [401, 401, 429, 429]
    assert (await world.browser("127.2.1.2").post("/sessions", RIGHT)).status_code == 201


async def test_the_owner_is_told(world: World, admin: Browser) -> None:
    """By an event once the failures have become many, and on their own page."""
    await guesses(world, "127.0.0.7", 4)
    assert await events(world) == []
    await guesses(world, "127.0.0.8", 2)
    assert await events(world) == [{"failures": 5, "source": "127.0.0.8"}]
    seen = (await admin.seen("/sign-in-failures"))["items"]
    assert [(one["source"], one["attempts"]) for one in seen] == [
        ("127.0.0.8", 2),
        ("127.0.0.7", 4),
    ]
    me = (await admin.seen("/whoami"))["id"]
    assert (await admin.seen(f"/users/{me}/sign-in-failures"))["items"] == seen


async def test_a_held_session_cannot_guess_the_password(world: World, admin: Browser) -> None:
    me = (await admin.seen("/whoami"))["id"]
    body = {"password": "another horse battery", "current_password": "wrong wrong wrong"}
    answers = [await admin.put(f"/users/{me}/password", body) for _ in range(12)]
    assert [answer.status_code for answer in answers[:10]] == [422] * 10
    assert answers[-1].status_code == 429
    assert answers[-1].json()["detail"] == WAIT
