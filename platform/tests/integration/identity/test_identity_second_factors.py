"""Second factors: set up, asked for at sign-in, lost, required by a tenant."""

import base64
import json
from datetime import datetime
from typing import Any, Protocol

import httpx2
import pytest
from identity_fixtures import (
    ADMIN,
    PASSWORD,
    Browser,
    MovingClock,
    World,
    tenant_made,
    tenant_scope,
)

from gpuaas_platform.identity.totp import code_at

PROOF = {"current_password": PASSWORD}
NEEDED = "The password is right. Send the code of your authenticator app, or a recovery code, too."
WRONG = "The code is wrong, or it was used before."
MISSING = "Your tenant requires a second factor. Set one up on your account's page first."


class StillClock(MovingClock, Protocol):
    """The tests' clock, as it is read here."""

    def now(self) -> datetime: ...


class App:
    """An authenticator app that holds one secret."""

    def __init__(self, secret: str, clock: StillClock) -> None:
        self._secret = base64.b32decode(secret)
        self._clock = clock

    def code(self) -> str:
        return code_at(self._secret, int(self._clock.now().timestamp()) // 30)


async def factor_set_up(person: Browser, clock: StillClock) -> tuple[App, dict[str, Any]]:
    begun = await person.made("/second-factors", PROOF)
    app = App(begun["secret"], clock)
    answer = await person.post(f"/second-factors/{begun['id']}/confirm", {"code": app.code()})
    assert answer.status_code == 200, answer.text
    clock.advance(seconds=30)
    return app, answer.json()


async def sign_in(world: World, code: str | None = None, address: str = "127.0.0.1") -> Any:
    body = {"email": ADMIN, "password": PASSWORD} | ({} if code is None else {"code": code})
    return await world.browser(address).post("/sessions", body)


async def test_a_sign_in_asks_for_the_code_and_takes_it_once(
    world: World, admin: Browser, clock: StillClock
) -> None:
    app, _ = await factor_set_up(admin, clock)
    asked = await sign_in(world)
    assert (asked.status_code, asked.json()["code"]) == (401, "second_factor_needed")
    assert asked.json()["detail"] == NEEDED
    code = app.code()
    assert (await sign_in(world, code)).status_code == 201
    again = await sign_in(world, code)
    assert (again.status_code, again.json()["code"]) == (401, "sign_in_failed")
    assert again.json()["detail"] == WRONG


async def test_a_wrong_password_says_nothing_of_a_factor(
    world: World, admin: Browser, clock: StillClock
) -> None:
    app, _ = await factor_set_up(admin, clock)
    body = {"email": ADMIN, "password": "wrong wrong wrong", "code": app.code()}
    refused = await world.browser().post("/sessions", body)
    assert refused.json()["detail"] == "Email or password is wrong."


async def test_a_repeated_sign_in_with_a_code_gets_the_same_session(
    world: World, admin: Browser, clock: StillClock
) -> None:
    app, _ = await factor_set_up(admin, clock)
    body = {"email": ADMIN, "password": PASSWORD, "code": app.code()}
    key = "a-key-of-more-than-sixteen"
    first, second = [
        await world.browser().post("/sessions", body, Idempotency_Key=key) for _ in range(2)
    ]
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()


async def test_a_factor_counts_once_its_first_code_was_right(world: World, admin: Browser) -> None:
    begun = await admin.made("/second-factors", PROOF)
    wrong = await admin.post(f"/second-factors/{begun['id']}/confirm", {"code": "000000"})
    assert wrong.status_code == 422
    assert wrong.json()["detail"] == (
        "/code: is not what the app shows now; check the clock of its device"
    )
    assert (await admin.seen("/second-factors"))["items"] == []
    assert (await sign_in(world)).status_code == 201


async def test_codes_cannot_be_guessed(world: World, admin: Browser, clock: StillClock) -> None:
    """Neither from one address nor from many; a known device still gets in."""
    app, _ = await factor_set_up(admin, clock)
    one = [(await sign_in(world, "000000", "127.3.0.1")).status_code for _ in range(7)]
    assert one[0] == 401
    assert one[-1] == 429
    many = [(await sign_in(world, "000000", f"127.3.1.{n}")).status_code for n in range(1, 25)]
    assert many[-1] == 429
    assert (await sign_in(world, app.code(), "127.3.2.1")).status_code == 429
    body = {"email": ADMIN, "password": PASSWORD, "code": app.code()}
    assert (await admin.post("/sessions", body)).status_code == 201
    failures = (await admin.seen("/sign-in-failures"))["items"]
    assert {one["source"] for one in failures} >= {"127.3.0.1", "127.3.1.1"}


async def test_recovery_codes_work_once_each_and_are_renewed(
    world: World, admin: Browser, clock: StillClock
) -> None:
    _, confirmed = await factor_set_up(admin, clock)
    codes = confirmed["recovery_codes"]
    assert len(set(codes)) == 10
    assert (await sign_in(world, codes[0].lower())).status_code == 201
    assert (await sign_in(world, codes[0])).json()["detail"] == WRONG
    assert (await admin.seen("/recovery-codes"))["left"] == 9
    renewed = await admin.made("/recovery-codes", PROOF)
    assert (await sign_in(world, codes[1])).json()["detail"] == WRONG
    assert (await sign_in(world, renewed["codes"][0])).status_code == 201


async def test_changes_need_the_present_password_and_a_session(
    world: World, admin: Browser, clock: StillClock
) -> None:
    _, confirmed = await factor_set_up(admin, clock)
    factor_id = confirmed["factor"]["id"]
    token = admin.with_token((await admin.made("/personal-tokens", {"name": "x"}))["secret"])
    for path in ("/second-factors", "/recovery-codes", f"/second-factors/{factor_id}/remove"):
        wrong = await admin.post(path, {"current_password": "wrong wrong wrong"})
        assert wrong.json()["detail"] == "/current_password: is not your present password"
        by_token = await token.post(path, PROOF)
        assert by_token.status_code == 403
        assert by_token.json()["detail"] == (
            "Sign in to change how you sign in; a token cannot do this."
        )
    assert (await admin.post(f"/second-factors/{factor_id}/remove", PROOF)).status_code == 204
    assert (await sign_in(world)).status_code == 201
    assert (await admin.seen("/recovery-codes"))["left"] == 0


async def test_secrets_and_codes_are_not_readable_in_the_database(
    world: World, admin: Browser, clock: StillClock
) -> None:
    begun = await admin.made("/second-factors", PROOF)
    plain = base64.b32decode(begun["secret"])
    rows = await world.platform.db.fetch("SELECT secret FROM second_factors")
    assert plain not in bytes(rows[0]["secret"])
    told = await world.platform.db.fetch(
        "SELECT to_jsonb(o) AS row FROM outbox o UNION ALL SELECT to_jsonb(a) FROM audit_entries a"
    )
    assert begun["secret"] not in json.dumps([row["row"] for row in told], default=str)


async def tenant_requiring(world: World, admin: Browser) -> tuple[Browser, Browser, str]:
    org_id, _ = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    ada = await world.person(admin, "project_viewer", tenant_scope(org_id))
    changed = await boss.patch(f"/tenants/{org_id}", {"second_factor_required": True})
    assert changed.json()["second_factor_required"] is True
    return boss, ada, org_id


async def test_a_tenant_can_require_a_factor(
    world: World, admin: Browser, clock: StillClock
) -> None:
    """Who has none can do nothing but set one up; sessions that are open already, too."""
    _, ada, _ = await tenant_requiring(world, admin)
    me = await ada.seen("/whoami")
    assert me["second_factor_due"] is True
    assert me["permissions"] == []
    again = await world.signed_in(me["email"])
    for person, path in ((ada, "/projects"), (again, "/sessions")):
        refused = await person.get(path)
        assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_missing")
        assert refused.json()["detail"] == MISSING
    made = await again.post("/personal-tokens", {"name": "around"})
    assert made.json()["code"] == "second_factor_missing"
    await factor_set_up(again, clock)
    for person in (ada, again):
        assert (await person.seen("/whoami"))["second_factor_due"] is False
        assert (await person.get("/projects")).status_code == 200


async def test_the_requirement_holds_for_guests_of_the_tenant(world: World, admin: Browser) -> None:
    """A role in the tenant is enough; a person with none there is not asked."""
    _, _, org_id = await tenant_requiring(world, admin)
    guest = await admin.made("/users", {"email": "guest@example.org", "password": PASSWORD})
    browser = await world.signed_in("guest@example.org")
    assert (await browser.seen("/whoami"))["second_factor_due"] is False
    role = {
        "principal_id": guest["id"], "role": "project_viewer", "scope": tenant_scope(org_id),
    }  # fmt: skip
    await admin.made("/role-bindings", role)
    assert (await browser.seen("/whoami"))["second_factor_due"] is True


async def test_an_administrator_helps_a_person_who_lost_their_factor(
    world: World, admin: Browser, clock: StillClock
) -> None:
    boss, ada, _ = await tenant_requiring(world, admin)
    await factor_set_up(ada, clock)
    await factor_set_up(boss, clock)
    listed = (await boss.seen(f"/users/{ada.user_id}/second-factors"))["items"]
    assert [one["name"] for one in listed] == ["Authenticator app"]
    assert (await boss.delete(f"/users/{ada.user_id}/second-factors")).status_code == 204
    assert (await ada.get("/whoami")).status_code == 401
    refused = await ada.delete(f"/users/{boss.user_id}/second-factors")
    assert refused.status_code == 401


async def test_another_tenants_factors_are_not_found(world: World, admin: Browser) -> None:
    org_id, _ = await tenant_made(admin, "umbrella")
    eve = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    _, ada, _ = await tenant_requiring(world, admin)
    answers: list[httpx2.Response] = [
        await eve.get(f"/users/{ada.user_id}/second-factors"),
        await eve.delete(f"/users/{ada.user_id}/second-factors"),
    ]
    assert [answer.status_code for answer in answers] == [404, 404]


@pytest.mark.parametrize("code", ["", "12345"])
async def test_a_code_of_no_form_is_refused(world: World, admin: Browser, code: str) -> None:
    assert (await sign_in(world, code)).status_code == 422


async def test_the_way_back_by_command_forgets_the_factor(
    world: World, admin: Browser, clock: StillClock
) -> None:
    await factor_set_up(admin, clock)
    await world.admin()  # sets the password again, as `gpuaas-platform admin create` does
    assert (await sign_in(world)).status_code == 201
