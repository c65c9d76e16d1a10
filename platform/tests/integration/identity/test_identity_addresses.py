"""One address in several tenants: kept apart, and chosen by who knows the password."""

import pytest
from identity_fixtures import PASSWORD, World, tenant_scope
from linking_fixtures import (
    BOB,
    account,
    tenant,
)

from gpuaas_contract.identity import LOOPBACK_SESSION_COOKIE
from gpuaas_platform.identity.bootstrap import AdminWish, admin_create
from gpuaas_platform.identity.parts import parts_of

pytestmark = pytest.mark.integration


async def test_an_address_in_use_elsewhere_is_neither_visible_nor_blocked(
    linked_world: World,
) -> None:
    admin = await linked_world.admin()
    acme, other = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "other"),
    )
    first = await acme.boss.post(f"/tenants/{acme.id}/users", {"email": BOB, "password": PASSWORD})
    again = await other.boss.post(
        f"/tenants/{other.id}/users", {"email": BOB, "password": PASSWORD}
    )
    free = await other.boss.post(
        f"/tenants/{other.id}/users", {"email": "free@example.org", "password": PASSWORD}
    )
    assert (first.status_code, again.status_code, free.status_code) == (201, 201, 201)
    assert set(again.json()) == set(free.json())
    twice = await acme.boss.post(f"/tenants/{acme.id}/users", {"email": "BOB@example.org"})
    assert (twice.status_code, twice.json()["code"]) == (409, "name_taken")
    assert twice.json()["detail"] == "Another account of this tenant has this email address."
    seen = await other.boss.seen("/users", email=BOB)
    assert [one["id"] for one in seen["items"]] == [again.json()["id"]]
    # Changing an address meets the accounts of the same tenant only.
    free_id = free.json()["id"]
    moved = await other.boss.patch(f"/users/{free_id}", {"email": BOB})
    assert moved.status_code == 409
    ada = await acme.boss.made(f"/tenants/{acme.id}/users", {"email": "ada@example.org"})
    moved = await acme.boss.patch(f"/users/{ada['id']}", {"email": "free@example.org"})
    assert moved.status_code == 200


async def test_a_role_by_address_goes_to_the_tenants_own_account(linked_world: World) -> None:
    admin = await linked_world.admin()
    acme, other = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "other"),
    )
    await account(other)
    ours = await account(acme)
    wish = {"email": BOB, "role": "project_viewer", "scope": tenant_scope(acme.id)}
    assert (await acme.boss.made("/role-bindings", wish))["principal_id"] == ours
    # The operator, who knows both, names the account at the platform by its id.
    wish = {"email": BOB, "role": "auditor", "scope": {"kind": "platform"}}
    refused = await admin.post("/role-bindings", wish)
    assert refused.json()["code"] == "invalid_request"
    assert "name one by principal_id" in refused.json()["detail"]


async def test_signing_in_asks_for_the_tenant_only_who_knows_the_password(
    linked_world: World,
) -> None:
    admin = await linked_world.admin()
    acme, other = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "other"),
    )
    third = await tenant(linked_world, admin, "third")
    mine = [await account(acme), await account(other)]
    await account(third, password="quite another password")
    browser = linked_world.browser()
    answer = await browser.post("/sessions", {"email": BOB, "password": PASSWORD})
    assert answer.status_code == 200
    assert browser.client.cookies.get(LOOPBACK_SESSION_COOKIE) is None
    offered = answer.json()["accounts"]
    assert {(one["user_id"], one["org_name"]) for one in offered} == {
        (mine[0], "Acme"),
        (mine[1], "Other"),
    }
    chosen = {"email": BOB, "password": PASSWORD, "user_id": mine[1]}
    assert (await browser.post("/sessions", chosen)).status_code == 201
    assert (await browser.seen("/whoami"))["id"] == mine[1]
    # The password of one account alone leads straight to it.
    alone = linked_world.browser()
    wish = {"email": BOB, "password": "quite another password"}
    assert (await alone.post("/sessions", wish)).status_code == 201
    # The id of another account is no way around its password.
    wish = {"email": BOB, "password": "quite another password", "user_id": mine[0]}
    assert (await linked_world.browser().post("/sessions", wish)).status_code == 401


async def test_a_stranger_gets_one_answer_whatever_exists(linked_world: World) -> None:
    admin = await linked_world.admin()
    acme, other = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "other"),
    )
    await account(acme)
    await account(other)
    await account(acme, "one@example.org")
    await account(other, "none@example.org", password=None)
    passwords = parts_of(linked_world.platform).passwords
    plain, checked = passwords.verify, 0

    async def counted(stored: str | None, password: str) -> bool:
        nonlocal checked
        checked += 1
        return await plain(stored, password)

    passwords.verify = counted  # type: ignore[method-assign] # counts, and does the same
    answers: list[tuple[int, dict[str, object], int]] = []
    for email in (BOB, "one@example.org", "none@example.org", "nobody@example.org"):
        for more in ({}, {"user_id": "user_x"}):
            before = checked
            wish = {"email": email, "password": "a wrong guess at it", **more}
            answer = await linked_world.browser(f"127.0.0.{len(answers) + 9}").post(
                "/sessions", wish
            )
            problem = answer.json()
            del problem["correlation_id"]
            answers.append((answer.status_code, problem, checked - before))
    assert all(one == answers[0] for one in answers), answers
    assert answers[0][0] == 401
    assert answers[0][1]["detail"] == "Email or password is wrong."
    assert answers[0][2] == 2


async def test_ones_own_account_frees_no_guesses_at_anothers(linked_world: World) -> None:
    admin = await linked_world.admin()
    acme, mallory = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "mallory"),
    )
    await account(acme, password="the one to be guessed")
    await account(mallory)
    seen = []
    for number in range(12):
        source = linked_world.browser("127.0.1.1")
        guess = await source.post("/sessions", {"email": BOB, "password": f"a guess {number:06}"})
        seen.append(guess.status_code)
        await source.post("/sessions", {"email": BOB, "password": PASSWORD})
    assert 429 in seen


async def test_a_tenants_account_does_not_become_the_platforms_administrator(
    linked_world: World,
) -> None:
    """Its tenant's administrator may know its password."""
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    planted = await account(acme)
    wish = AdminWish(BOB, password="the password of an operator")
    made = await admin_create(linked_world.platform, wish, "test")
    assert (made.user_id != planted, made.created) == (True, True)
    theirs = await linked_world.signed_in(BOB)
    assert (await theirs.seen("/whoami"))["id"] == planted
    assert (await theirs.get("/nodes")).status_code == 403
