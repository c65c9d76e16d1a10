"""Signing in and out: cookies, CSRF, expiry, throttling, the same answer for every failure."""

from identity_fixtures import ADMIN, Browser, World

from gpuaas_contract.identity import CSRF_COOKIE, LOOPBACK_SESSION_COOKIE


async def test_sign_in_gives_a_session_and_whoami_knows_it(admin: Browser) -> None:
    me = await admin.seen("/whoami")
    assert me["email"] == ADMIN
    assert me["kind"] == "user"
    assert me["bindings"][0]["role"] == "platform_admin"
    assert me["token_id"].startswith("sess_")


async def test_a_change_by_cookie_needs_the_csrf_token(admin: Browser) -> None:
    refused = await admin.post("/tenants", {"name": "acme"}, X_CSRF_Token="wrong")
    assert refused.status_code == 403
    assert refused.json()["code"] == "csrf_failed"
    admin.client.cookies.delete(CSRF_COOKIE)
    assert (await admin.post("/tenants", {"name": "acme"})).json()["code"] == "csrf_failed"


async def test_signing_out_ends_the_session_at_once(admin: Browser, world: World) -> None:
    secret = admin.client.cookies.get(LOOPBACK_SESSION_COOKIE)
    assert (await admin.delete("/sessions/current")).status_code == 204
    assert admin.client.cookies.get(LOOPBACK_SESSION_COOKIE) is None
    thief = world.browser()
    thief.client.cookies.set(LOOPBACK_SESSION_COOKIE, secret or "")
    assert (await thief.get("/whoami")).json()["code"] == "unauthenticated"
