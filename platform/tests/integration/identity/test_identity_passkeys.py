"""Passkeys as second factors: made, used at sign-in, refused when anything about them is wrong."""

from typing import Any

from identity_fixtures import ADMIN, PASSWORD, Browser, MovingClock, World
from soft_passkey import SoftPasskey

RIGHT = {"email": ADMIN, "password": PASSWORD}
REFUSED = "The passkey was not accepted; try again."


async def passkey_set_up(person: Browser) -> tuple[SoftPasskey, dict[str, Any]]:
    body = {"kind": "passkey", "name": "Laptop", "current_password": PASSWORD}
    begun = await person.made("/second-factors", body)
    assert begun["options"]["rp"]["id"] == "test"
    passkey = SoftPasskey("http://test", "test")
    proof = {"passkey": passkey.made(begun["options"])}
    answer = await person.post(f"/second-factors/{begun['id']}/confirm", proof)
    assert answer.status_code == 200, answer.text
    return passkey, answer.json()


async def challenge(browser: Browser) -> dict[str, Any]:
    options: dict[str, Any] = (await browser.made("/passkey-challenges", RIGHT))["options"]
    return options


async def test_a_sign_in_with_a_passkey(world: World, admin: Browser) -> None:
    passkey, confirmed = await passkey_set_up(admin)
    assert (confirmed["factor"]["kind"], len(confirmed["recovery_codes"])) == ("passkey", 10)
    browser = world.browser()
    asked = await browser.post("/sessions", RIGHT)
    assert asked.json()["code"] == "second_factor_needed"
    assert asked.json()["context"] == {"kinds": "passkey"}
    assert asked.json()["detail"] == (
        "The password is right. Send the answer of your passkey, or a recovery code, too."
    )
    options = await challenge(browser)
    assert len(options["allowCredentials"]) == 1
    signed = {**RIGHT, "passkey": passkey.signed(options)}
    assert (await browser.post("/sessions", signed)).status_code == 201
    replayed = await world.browser().post("/sessions", signed)
    assert (replayed.status_code, replayed.json()["detail"]) == (401, REFUSED)


async def test_a_challenge_needs_the_password_and_lives_for_minutes(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    passkey, _ = await passkey_set_up(admin)
    wrong = await world.browser().post(
        "/passkey-challenges", {"email": ADMIN, "password": "wrong wrong wrong"}
    )
    assert (wrong.status_code, wrong.json()["detail"]) == (401, "Email or password is wrong.")
    options = await challenge(world.browser())
    clock.advance(minutes=6)
    late = {**RIGHT, "passkey": passkey.signed(options)}
    assert (await world.browser().post("/sessions", late)).json()["detail"] == REFUSED


async def test_anothers_passkey_challenge_or_site_is_refused(world: World, admin: Browser) -> None:
    passkey, _ = await passkey_set_up(admin)
    await admin.made("/users", {"email": "eve@example.org", "password": PASSWORD})
    eve = await world.signed_in("eve@example.org")
    foreign, _ = await passkey_set_up(eve)
    her_options = (
        await world.browser().made(
            "/passkey-challenges", {"email": "eve@example.org", "password": PASSWORD}
        )
    )["options"]
    elsewhere = SoftPasskey("https://phish.example", "phish.example")
    elsewhere.id, elsewhere._key = passkey.id, passkey._key
    for answer in (
        foreign.signed(await challenge(world.browser())),
        passkey.signed(her_options),
        elsewhere.signed(await challenge(world.browser())),
        {"id": 7, "response": {"clientDataJSON": 7}},
        {"id": "AAAA", "response": {"clientDataJSON": "e30"}},
    ):
        refused = await world.browser().post("/sessions", {**RIGHT, "passkey": answer})
        assert (refused.status_code, refused.json()["detail"]) == (401, REFUSED)


async def test_a_passkey_made_for_another_challenge_is_not_confirmed(
    world: World, admin: Browser
) -> None:
    body = {"kind": "passkey", "current_password": PASSWORD}
    begun = await admin.made("/second-factors", body)
    passkey = SoftPasskey("http://test", "test")
    made = passkey.made({**begun["options"], "challenge": "AAAA"})
    for proof in ({"passkey": made}, {"code": "123456"}, {}):
        refused = await admin.post(f"/second-factors/{begun['id']}/confirm", proof)
        assert refused.status_code == 422
        assert refused.json()["detail"] == "/passkey: is not what was asked for; begin again"
    assert (await admin.seen("/second-factors"))["items"] == []


async def test_an_account_without_a_passkey_has_no_challenge(world: World, admin: Browser) -> None:
    refused = await world.browser().post("/passkey-challenges", RIGHT)
    assert (refused.status_code, refused.json()["detail"]) == (409, "The account has no passkey.")
