"""Signing in and out: cookies, CSRF, expiry, throttling, the same answer for every failure."""

import asyncio

import pytest
from identity_fixtures import ADMIN, PASSWORD, Browser, MovingClock, World

from gpuaas_contract.identity import (
    CSRF_COOKIE,
    DEVICE_COOKIE,
    LOOPBACK_DEVICE_COOKIE,
    LOOPBACK_SESSION_COOKIE,
    SESSION_COOKIE,
)

WRONG = {"email": ADMIN, "password": "wrong wrong wrong"}
RIGHT = {"email": ADMIN, "password": PASSWORD}


async def test_sign_in_gives_a_session_and_whoami_knows_it(admin: Browser) -> None:
    me = await admin.seen("/whoami")
    assert me["email"] == ADMIN
    assert me["kind"] == "user"
    assert me["bindings"][0]["role"] == "platform_admin"
    assert me["token_id"].startswith("sess_")
    assert {entry["only_here"] for entry in me["permissions"]} == {True, False}


async def test_the_cookie_is_out_of_reach_of_scripts(world: World, admin: Browser) -> None:
    answer = await world.browser().post("/sessions", RIGHT)
    session, csrf, device = answer.headers.get_list("set-cookie")
    assert device.startswith(f"{LOOPBACK_DEVICE_COOKIE}=")
    assert "HttpOnly" in device
    assert session.startswith(f"{LOOPBACK_SESSION_COOKIE}=gps_")
    assert "HttpOnly" in session
    assert "SameSite=lax" in session
    assert "Secure" not in session
    assert "HttpOnly" not in csrf
    assert "gps_" not in answer.text


async def test_over_https_the_cookie_is_bound_to_the_host(world: World, admin: Browser) -> None:
    browser = world.browser("203.0.113.9", "https://test")
    answer = await browser.post("/sessions", RIGHT)
    session, csrf, device = answer.headers.get_list("set-cookie")
    assert device.startswith(f"{DEVICE_COOKIE}=")
    assert "Secure" in device
    assert session.startswith(f"{SESSION_COOKIE}=")
    assert "Secure" in session
    assert "Path=/" in session
    assert "Domain" not in session
    assert "Secure" in csrf
    assert (await browser.get("/whoami")).status_code == 200
    tossed = world.browser("203.0.113.9", "https://test")
    secret = browser.client.cookies.get(SESSION_COOKIE)
    tossed.client.cookies.set(LOOPBACK_SESSION_COOKIE, secret or "")
    assert (await tossed.get("/whoami")).status_code == 401


async def test_plain_http_from_elsewhere_is_refused(world: World, admin: Browser) -> None:
    answer = await world.browser("203.0.113.9").post("/sessions", RIGHT)
    assert answer.status_code == 409
    assert "HTTPS" in answer.json()["detail"]


async def test_another_site_cannot_sign_people_in(world: World, admin: Browser) -> None:
    answer = await world.browser().post("/sessions", RIGHT, Sec_Fetch_Site="cross-site")
    assert answer.json()["code"] == "csrf_failed"


async def test_a_change_by_cookie_needs_the_csrf_token(admin: Browser) -> None:
    refused = await admin.post("/tenants", {"name": "acme"}, X_CSRF_Token="wrong")
    assert refused.status_code == 403
    assert refused.json()["code"] == "csrf_failed"
    admin.client.cookies.delete(CSRF_COOKIE)
    assert (await admin.post("/tenants", {"name": "acme"})).json()["code"] == "csrf_failed"
    assert (await admin.get("/tenants")).json()["items"] == []


async def test_signing_out_ends_the_session_at_once(admin: Browser, world: World) -> None:
    secret = admin.client.cookies.get(LOOPBACK_SESSION_COOKIE)
    assert (await admin.delete("/sessions/current")).status_code == 204
    assert admin.client.cookies.get(LOOPBACK_SESSION_COOKIE) is None
    thief = world.browser()
    thief.client.cookies.set(LOOPBACK_SESSION_COOKIE, secret or "")
    assert (await thief.get("/whoami")).json()["code"] == "unauthenticated"


async def test_one_sees_and_ends_ones_other_sessions(world: World, admin: Browser) -> None:
    other = await world.signed_in(ADMIN)
    listed = (await admin.seen("/sessions"))["items"]
    assert [session["current"] for session in listed] == [False, True]
    assert (await admin.delete(f"/sessions/{listed[0]['id']}")).status_code == 204
    assert (await other.get("/whoami")).status_code == 401
    assert (await admin.get("/whoami")).status_code == 200


async def test_a_session_ends_when_idle_and_when_old(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    for _ in range(3):
        clock.advance(hours=7)
        assert (await admin.get("/whoami")).status_code == 200
    clock.advance(hours=9)
    assert (await admin.get("/whoami")).json()["code"] == "token_expired"
    again = await world.signed_in(ADMIN)
    for _ in range(27):
        clock.advance(hours=6)
        assert (await again.get("/whoami")).status_code == 200
    clock.advance(hours=7)
    assert (await again.get("/whoami")).json()["code"] == "token_expired"


async def test_every_failure_has_the_same_answer_and_is_audited(
    world: World, admin: Browser
) -> None:
    made = await admin.made("/users", {"email": "gone@example.org", "password": PASSWORD})
    await admin.made("/users", {"email": "sso@example.org"})
    await admin.patch(f"/users/{made['id']}", {"active": False})
    tried = [
        WRONG,
        {"email": "nobody@example.org", "password": PASSWORD},
        {"email": "gone@example.org", "password": PASSWORD},
        {"email": "sso@example.org", "password": PASSWORD},
        {"email": "", "password": ""},
    ]
    answers = [(await world.browser().post("/sessions", body)) for body in tried]
    told = {(a.status_code, a.json()["code"], a.json()["detail"]) for a in answers}
    assert told == {(401, "sign_in_failed", "Email or password is wrong.")}
    rows = await world.platform.db.fetch(
        "SELECT target_id, actor_id FROM audit_entries WHERE outcome = 'denied' ORDER BY id"
    )
    assert len(rows) == 5
    assert [row["target_id"] for row in rows].count("unknown") == 2
    assert {row["actor_id"] for row in rows} == {"anonymous"}


async def test_an_origin_waits_longer_after_each_failure(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    waits = []
    attacker = world.browser("127.0.0.2")
    for number in range(9):
        answer = await attacker.post("/sessions", WRONG)
        if number < 5:
            assert answer.status_code == 401
            continue
        assert answer.status_code == 429
        waits.append(int(answer.headers["retry-after"]))
        clock.advance(seconds=waits[-1] + 1)
        assert (await attacker.post("/sessions", WRONG)).status_code == 401
    assert waits == sorted(waits)
    assert waits[-1] >= 8
    blocked = await world.browser("127.0.0.2").post("/sessions", RIGHT)
    assert blocked.status_code == 429
    clock.advance(hours=1)
    assert (await world.browser("127.0.0.2").post("/sessions", RIGHT)).status_code == 201
    assert (await world.browser("127.0.0.2").post("/sessions", WRONG)).status_code == 401


async def test_who_begins_first_may_be_counted_second(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    assert (await world.browser().post("/sessions", WRONG)).status_code == 401
    clock.advance(seconds=-1)
    assert (await world.browser().post("/sessions", RIGHT)).status_code == 201
    clock.advance(seconds=-1)
    assert (await world.browser().post("/sessions", RIGHT)).status_code == 201


async def test_an_address_waits_whatever_names_it_tries(world: World, admin: Browser) -> None:
    attacker = world.browser("127.9.9.9")
    codes = []
    for number in range(22):
        body = {"email": f"guess{number}@example.org", "password": PASSWORD}
        codes.append((await attacker.post("/sessions", body)).status_code)
    assert codes == [401] * 20 + [429] * 2
    assert (await world.browser("127.0.0.1").post("/sessions", RIGHT)).status_code == 201


async def test_parallel_guesses_are_not_free(world: World, admin: Browser) -> None:
    guesses = [world.browser("127.1.0.1").post("/sessions", WRONG) for _ in range(1, 20)]
    answers = await asyncio.gather(*guesses)
    assert sum(answer.status_code == 401 for answer in answers) <= 6


async def test_a_repeated_sign_in_gets_the_same_session(world: World, admin: Browser) -> None:
    key = "a-key-of-more-than-sixteen"
    first, second = world.browser(), world.browser()
    one = await first.post("/sessions", RIGHT, Idempotency_Key=key)
    two = await second.post("/sessions", RIGHT, Idempotency_Key=key)
    assert (one.status_code, two.status_code) == (201, 201)
    assert one.json() == two.json()
    assert two.headers["Idempotent-Replay"] == "true"
    assert first.client.cookies.get(LOOPBACK_SESSION_COOKIE) == second.client.cookies.get(
        LOOPBACK_SESSION_COOKIE
    )
    short = await world.browser().post("/sessions", RIGHT, Idempotency_Key="short")
    assert short.status_code == 422


async def test_a_new_password_ends_other_sessions(world: World, admin: Browser) -> None:
    me = await admin.seen("/whoami")
    other = await world.signed_in(ADMIN)
    path = f"/users/{me['id']}/password"
    body = {"password": "another horse battery", "current_password": "wrong"}
    assert (await admin.put(path, body)).status_code == 422
    body["current_password"] = PASSWORD
    assert (await admin.put(path, body)).status_code == 204
    assert (await other.get("/whoami")).status_code == 401
    assert (await admin.get("/whoami")).status_code == 200
    assert (await world.browser().post("/sessions", RIGHT)).status_code == 401


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer x", "Bearer gpt_x", "Bearer gps_x", "Basic x", "Bearer gpk_x_y"]
)
async def test_made_up_tokens_are_nobody(world: World, header: str) -> None:
    answer = await world.browser().client.get("/whoami", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_a_session_secret_is_no_bearer_token(admin: Browser) -> None:
    secret = admin.client.cookies.get(LOOPBACK_SESSION_COOKIE)
    assert (await admin.with_token(secret or "").get("/whoami")).status_code == 401
