"""Sessions and personal tokens end when they should, and who may see and end whose."""

import asyncio
from typing import Any

import pytest
from identity_fixtures import (
    ADMIN,
    PASSWORD,
    Browser,
    MovingClock,
    World,
    tenant_made,
    tenant_scope,
    world_running,
)

from gpuaas_contract.identity import DAY
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.settings import Settings

OTHER = "another horse battery"


async def tenant_people(
    world: World, admin: Browser, name: str = "acme"
) -> tuple[Browser, Browser, str]:
    """A tenant's administrator and one of its people."""
    org_id, _ = await tenant_made(admin, name)
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    ada = await world.person(admin, "project_viewer", tenant_scope(org_id))
    return boss, ada, org_id


async def token_made(person: Browser, **body: Any) -> Browser:
    made = await person.made("/personal-tokens", {"name": "script", **body})
    return person.with_token(made["secret"])


async def status_of(person: Browser) -> int:
    return (await person.get("/whoami")).status_code


async def events_of(world: World, user_id: str) -> list[tuple[str, dict[str, Any]]]:
    rows = await world.platform.db.fetch(
        "SELECT type, data FROM (SELECT id, type, data, subject FROM outbox"
        " UNION SELECT id, type, data, subject FROM events) AS all_"
        " WHERE subject = $1 AND type LIKE 'identity.user.%' ORDER BY id",
        user_id,
    )
    return [(row["type"], row["data"]) for row in rows]


async def test_a_reset_password_ends_sessions_and_tokens(world: World, admin: Browser) -> None:
    boss, ada, _ = await tenant_people(world, admin)
    token = await token_made(ada)
    reset = await boss.put(f"/users/{ada.user_id}/password", {"password": OTHER})
    assert reset.status_code == 204, reset.text
    assert (await status_of(ada), await status_of(token)) == (401, 401)
    assert "revoked" in (await token.get("/whoami")).json()["detail"]
    ended = ("identity.user.credentials_ended", {"sessions": 1, "tokens": 1})
    assert ended in await events_of(world, ada.user_id)


async def test_a_reset_cannot_keep_the_tokens(world: World, admin: Browser) -> None:
    boss, ada, _ = await tenant_people(world, admin)
    token = await token_made(ada)
    body = {"password": OTHER, "end_tokens": False}
    refused = await boss.put(f"/users/{ada.user_id}/password", body)
    assert refused.status_code == 422
    assert refused.json()["detail"] == (
        "/end_tokens: tokens of others always end with their password"
    )
    assert (await status_of(ada), await status_of(token)) == (200, 200)


@pytest.mark.parametrize(("body", "left"), [({}, 401), ({"end_tokens": False}, 200)])
async def test_a_persons_own_change_ends_their_tokens_unless_kept(
    world: World, admin: Browser, body: dict[str, Any], left: int
) -> None:
    _, ada, _ = await tenant_people(world, admin)
    other = await world.signed_in((await ada.seen("/whoami"))["email"])
    token = await token_made(ada)
    change = {"password": OTHER, "current_password": PASSWORD, **body}
    assert (await ada.put(f"/users/{ada.user_id}/password", change)).status_code == 204
    assert await status_of(ada) == 200  # the session that changed it
    assert await status_of(other) == 401
    assert await status_of(token) == left


async def test_a_disabled_account_does_not_come_back_with_its_old_credentials(
    world: World, admin: Browser
) -> None:
    boss, ada, _ = await tenant_people(world, admin)
    token = await token_made(ada)
    path = f"/users/{ada.user_id}"
    for active in (False, True):
        assert (await boss.patch(path, {"active": active})).status_code == 200
        assert (await status_of(ada), await status_of(token)) == (401, 401)


async def test_a_terminal_that_was_let_in_gets_no_token_after_a_reset(
    world: World, admin: Browser
) -> None:
    boss, ada, _ = await tenant_people(world, admin)
    begun = await world.browser().made("/device-sign-ins", {"name": "laptop"})
    code = begun["user_code"]
    decided = await ada.post(f"/device-sign-ins/{code}/decide", {"approve": True})
    assert decided.status_code == 200, decided.text
    await boss.put(f"/users/{ada.user_id}/password", {"password": OTHER})
    answer = await world.browser().post("/device-sign-ins/redeem", {"secret": begun["secret"]})
    assert answer.status_code == 401
    assert answer.json()["detail"] == "This sign-in is not known, or long over."


async def test_signing_out_everywhere(world: World, admin: Browser) -> None:
    _, ada, _ = await tenant_people(world, admin)
    email = (await ada.seen("/whoami"))["email"]
    other, token = await world.signed_in(email), await token_made(ada)
    ended = await ada.client.request(
        "DELETE", "/sessions", params={"tokens": False}, headers=ada._headers()
    )
    assert ended.json() == {"sessions": 2, "tokens": 0}
    assert [await status_of(one) for one in (ada, other, token)] == [401, 401, 200]
    again = await world.signed_in(email)
    assert (await again.delete("/sessions")).json() == {"sessions": 1, "tokens": 1}
    assert await status_of(token) == 401


async def test_a_token_cannot_sign_everybody_out(world: World, admin: Browser) -> None:
    token = await token_made(admin)
    refused = await token.delete("/sessions")
    assert refused.status_code == 403
    assert refused.json()["detail"] == "Sign in to sign out everywhere; a token cannot do this."


async def test_a_tenant_admin_sees_and_ends_what_their_people_have(
    world: World, admin: Browser
) -> None:
    boss, ada, _ = await tenant_people(world, admin)
    token = await token_made(ada)
    other = await world.signed_in((await ada.seen("/whoami"))["email"])
    path = f"/users/{ada.user_id}"
    sessions = (await boss.seen(f"{path}/sessions"))["items"]
    tokens = (await boss.seen(f"{path}/personal-tokens"))["items"]
    assert {one["source"] for one in sessions} == {"127.0.0.1"}
    assert not any(one["current"] for one in sessions)
    assert [one["name"] for one in tokens] == ["script"]
    assert "secret" not in tokens[0]
    assert (await boss.delete(f"{path}/sessions/{sessions[0]['id']}")).status_code == 204
    assert (await status_of(other), await status_of(ada)) == (401, 200)
    assert (await boss.delete(f"{path}/personal-tokens/{tokens[0]['id']}")).status_code == 204
    assert await status_of(token) == 401
    assert (await boss.delete(f"{path}/sessions")).json() == {"sessions": 1, "tokens": 0}
    assert await status_of(ada) == 401


async def test_another_tenants_people_are_not_found(world: World, admin: Browser) -> None:
    """Not even when they hold a role in the caller's own tenant."""
    boss, _, org_id = await tenant_people(world, admin)
    _, eve, _ = await tenant_people(world, admin, "umbrella")
    token = await token_made(eve)
    role = {"principal_id": eve.user_id, "role": "project_viewer", "scope": tenant_scope(org_id)}
    await admin.made("/role-bindings", role)
    session_id = (await eve.seen("/whoami"))["token_id"]
    token_id = (await eve.seen("/personal-tokens"))["items"][0]["id"]
    path = f"/users/{eve.user_id}"
    answers = [
        await boss.get(f"{path}/sessions"),
        await boss.get(f"{path}/personal-tokens"),
        await boss.delete(f"{path}/sessions"),
        await boss.delete(f"{path}/sessions/{session_id}"),
        await boss.delete(f"{path}/personal-tokens/{token_id}"),
    ]
    assert {answer.status_code for answer in answers} == {404}
    told = {answer.json()["detail"] for answer in answers}
    assert told == {"There is no such resource in your reach."}
    assert (await status_of(eve), await status_of(token)) == (200, 200)


async def test_one_persons_session_is_not_found_at_another(world: World, admin: Browser) -> None:
    boss, ada, _ = await tenant_people(world, admin)
    own = (await boss.seen("/whoami"))["token_id"]
    assert (await boss.delete(f"/users/{ada.user_id}/sessions/{own}")).status_code == 404
    assert await status_of(boss) == 200


async def test_a_narrowed_token_ends_only_itself(world: World, admin: Browser) -> None:
    _, ada, org_id = await tenant_people(world, admin)
    narrow = await token_made(ada, permissions=["apps.instance.read"], scope=tenant_scope(org_id))
    whole = (await ada.made("/personal-tokens", {"name": "whole"}))["id"]
    session_id = (await ada.seen("/whoami"))["token_id"]
    own = (await narrow.seen("/whoami"))["token_id"]
    for path in (f"/personal-tokens/{whole}", f"/sessions/{session_id}"):
        refused = await narrow.delete(path)
        assert refused.status_code == 403
        assert refused.json()["detail"] == (
            "A narrowed token ends no session and no token but itself."
        )
    assert await status_of(ada) == 200
    assert (await narrow.delete(f"/personal-tokens/{own}")).status_code == 204
    assert await status_of(narrow) == 401


async def test_a_tokens_life_follows_the_settings(
    database_url: str, settings: Settings, clock: Clock
) -> None:
    short = settings.model_copy(
        update={"personal_token_seconds": 2 * DAY, "personal_token_max_seconds": 3 * DAY}
    )
    async with world_running(database_url, short, clock) as world:
        admin = await world.admin()
        made = await admin.made("/personal-tokens", {"name": "usual"})
        assert made["expires_at"][:10] > made["created_at"][:10]
        longer = await admin.post(
            "/personal-tokens", {"name": "long", "expires_in_seconds": 4 * DAY}
        )
        assert longer.status_code == 422
        assert longer.json()["detail"] == (
            "/expires_in_seconds: a token works for 259200 seconds at most here"
        )
        terminal = {"name": "laptop", "expires_in_seconds": 4 * DAY}
        assert (await world.browser().post("/device-sign-ins", terminal)).status_code == 422


async def test_the_last_use_is_written_once_a_minute(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    token = await token_made(admin)

    async def last_used() -> str:
        items = (await admin.seen("/personal-tokens"))["items"]
        found: str = items[0]["last_used_at"]
        return found

    assert await status_of(token) == 200
    first = await last_used()
    clock.advance(seconds=30)
    assert await status_of(token) == 200
    assert await last_used() == first
    clock.advance(seconds=31)
    assert await status_of(token) == 200
    assert await last_used() > first


async def test_no_token_is_made_beside_the_end_of_all(world: World, admin: Browser) -> None:
    """However the two fall together, no token outlives the reset."""
    boss, ada, _ = await tenant_people(world, admin)
    for _ in range(5):
        email = (await boss.seen(f"/users/{ada.user_id}"))["email"]
        made, reset = await asyncio.gather(
            ada.post("/personal-tokens", {"name": "late"}),
            boss.put(f"/users/{ada.user_id}/password", {"password": PASSWORD}),
        )
        assert reset.status_code == 204
        assert made.status_code in {201, 401}, made.text
        assert (await boss.seen(f"/users/{ada.user_id}/personal-tokens"))["items"] == []
        user_id, ada = ada.user_id, await world.signed_in(email)
        ada.user_id = user_id


async def test_the_way_back_by_command_ends_tokens_too(world: World, admin: Browser) -> None:
    token = await token_made(admin)
    await world.admin()  # sets the password again, as `gpuaas-platform admin create` does
    assert (await status_of(admin), await status_of(token)) == (401, 401)
    assert ADMIN in (await (await world.signed_in(ADMIN)).seen("/whoami"))["email"]
