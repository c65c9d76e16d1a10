"""Service accounts, their keys and tokens; personal tokens. Shown once, ended at once."""

import asyncio
import base64

from identity_fixtures import (
    PASSWORD,
    Browser,
    MovingClock,
    World,
    key_exchanged,
    operator_made,
    project_scope,
    tenant_made,
    tenant_scope,
)

from gpuaas_contract.identity import DAY


async def boss_of(world: World, admin: Browser, name: str = "acme") -> tuple[Browser, str, str]:
    org_id, project_id = await tenant_made(admin, name)
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    return boss, org_id, project_id


async def token_of(boss: Browser, account_id: str) -> tuple[Browser, dict[str, str]]:
    key = await boss.made(f"/service-accounts/{account_id}/keys", {})
    answer = await key_exchanged(boss, key["secret"])
    assert answer.status_code == 201, answer.text
    return boss.with_token(answer.json()["access_token"]), key


async def test_a_key_is_exchanged_for_a_token_that_acts_in_the_project(
    world: World, admin: Browser
) -> None:
    boss, org_id, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    assert account["roles"] == ["app_operator"]
    machine, key = await token_of(boss, account["id"])
    assert key["secret"].startswith("gpk_")
    me = await machine.seen("/whoami")
    assert (me["kind"], me["id"]) == ("service_account", account["id"])
    assert me["home"] == {"kind": "project", "org_id": org_id, "project_id": project_id}
    assert (await machine.seen(f"/projects/{project_id}"))["id"] == project_id
    listed = (await boss.seen(f"/service-accounts/{account['id']}/keys"))["items"]
    assert [item["status"] for item in listed] == ["active"]
    assert "secret" not in listed[0]
    assert listed[0]["last_used_at"] is not None
    found = await boss.seen(f"/projects/{project_id}/service-accounts", role="app_operator")
    assert [item["id"] for item in found["items"]] == [account["id"]]


async def test_a_token_ends_with_its_time(world: World, admin: Browser, clock: MovingClock) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    machine, _ = await token_of(boss, account["id"])
    clock.advance(minutes=14)
    assert (await machine.get("/whoami")).status_code == 200
    clock.advance(minutes=2)
    assert (await machine.get("/whoami")).json()["code"] == "token_expired"


async def test_a_token_ends_with_its_key_account_project_and_tenant(
    world: World, admin: Browser
) -> None:
    boss, org_id, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    machine, key = await token_of(boss, account["id"])
    second, _ = await token_of(boss, account["id"])

    revoked = await boss.delete(f"/service-account-keys/{key['id']}")
    assert revoked.json()["status"] == "revoked"
    assert (await machine.get("/whoami")).json()["code"] == "unauthenticated"
    assert (await key_exchanged(boss, key["secret"])).json()["code"] == "unauthenticated"

    for path, who in (
        (f"/service-accounts/{account['id']}", boss),
        (f"/projects/{project_id}", boss),
        (f"/tenants/{org_id}", admin),
    ):
        assert (await second.get("/whoami")).status_code == 200
        assert (await who.patch(path, {"active": False})).status_code == 200
        assert (await second.get("/whoami")).json()["code"] == "unauthenticated"
        assert (await who.patch(path, {"active": True})).status_code == 200


async def test_rotation_overlaps_and_then_ends(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    path = f"/service-accounts/{account['id']}/keys"
    old = await boss.made(path, {"name": "old"})
    new = await boss.made(path, {"predecessor_id": old["id"], "overlap_seconds": 3600})
    assert new["predecessor_id"] == old["id"]
    clock.advance(minutes=59)
    for key in (old, new):
        assert (await key_exchanged(boss, key["secret"])).status_code == 201
    late = await key_exchanged(boss, old["secret"])
    assert late.json()["expires_in"] <= 60  # a token does not outlive its key
    clock.advance(minutes=2)
    assert (await key_exchanged(boss, old["secret"])).status_code == 401
    assert (await key_exchanged(boss, new["secret"])).status_code == 201
    again = await boss.post(path, {"predecessor_id": old["id"]})
    assert again.json()["code"] == "state_conflict"


async def test_of_two_rotations_at_once_one_wins(world: World, admin: Browser) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    path = f"/service-accounts/{account['id']}/keys"
    old = await boss.made(path, {})
    body = {"predecessor_id": old["id"]}
    answers = await asyncio.gather(*(boss.post(path, body) for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
    winner = next(answer.json() for answer in answers if answer.status_code == 201)
    await boss.delete(f"/service-account-keys/{winner['id']}")
    assert (await boss.post(path, body)).status_code == 201  # its successor was revoked


async def test_racing_requests_keep_to_the_number_of_keys(world: World, admin: Browser) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    path = f"/service-accounts/{account['id']}/keys"
    answers = await asyncio.gather(*(boss.post(path, {}) for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [201] * 10 + [409] * 2


async def test_a_revocation_and_an_exchange_at_once_leave_no_working_token(
    world: World, admin: Browser
) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    key = await boss.made(f"/service-accounts/{account['id']}/keys", {})
    exchanges = [key_exchanged(boss, key["secret"]) for _ in range(8)]
    revoked, *answers = await asyncio.gather(
        boss.delete(f"/service-account-keys/{key['id']}"), *exchanges
    )
    assert revoked.status_code == 200
    for answer in answers:
        if answer.status_code == 201:
            machine = boss.with_token(answer.json()["access_token"])
            assert (await machine.get("/whoami")).status_code == 401


async def test_keys_are_limited_and_expire(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    path = f"/service-accounts/{account['id']}/keys"
    short = await boss.made(path, {"expires_in_seconds": 3600})
    for _ in range(9):
        await boss.made(path, {"expires_in_seconds": 30 * DAY})
    assert (await boss.post(path, {})).json()["code"] == "quota_exceeded"
    clock.advance(hours=2)
    assert (await key_exchanged(boss, short["secret"])).status_code == 401
    assert (await boss.post(path, {})).status_code == 201


async def test_a_repeat_shows_the_same_secret_again_to_the_same_caller_only(
    world: World, admin: Browser
) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    path = f"/service-accounts/{account['id']}/keys"
    one = await boss.post(path, {}, Idempotency_Key="x" * 20)
    two = await boss.post(path, {}, Idempotency_Key="x" * 20)
    assert one.json() == two.json()
    other = await boss.post(path, {"name": "other"}, Idempotency_Key="x" * 20)
    assert other.json()["code"] == "idempotency_conflict"
    stored = await world.platform.db.fetch("SELECT answer, sealed FROM idempotency WHERE sealed")
    assert len(stored) == 1
    assert one.json()["secret"].encode() not in bytes(stored[0]["answer"])


async def test_an_account_registers_the_key_secrets_are_sealed_to(
    world: World, admin: Browser
) -> None:
    boss, _, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    machine, _ = await token_of(boss, account["id"])
    key = base64.b64encode(bytes(range(32))).decode()
    path = f"/service-accounts/{account['id']}/public-key"
    assert (await machine.put(path, {"public_key": key})).json()["public_key"] == key
    assert (await machine.put(path, {"public_key": "c2hvcnQ="})).status_code == 422
    other = await operator_made(boss, project_id, "another")
    denied = await machine.put(f"/service-accounts/{other['id']}/public-key", {"public_key": key})
    assert denied.json()["code"] == "permission_denied"


async def test_a_service_account_acts_in_its_own_project_only(world: World, admin: Browser) -> None:
    boss, org_id, project_id = await boss_of(world, admin)
    account = await operator_made(boss, project_id)
    other = await boss.made(f"/tenants/{org_id}/projects", {"name": "other"})
    for scope in (project_scope(org_id, other["id"]), tenant_scope(org_id)):
        body = {"principal_id": account["id"], "role": "project_viewer", "scope": scope}
        answer = await boss.post("/role-bindings", body)
        assert answer.status_code == 422
        assert "own project" in answer.json()["detail"]
    machine, _ = await token_of(boss, account["id"])
    assert (await machine.get(f"/projects/{other['id']}")).status_code == 404


async def test_a_personal_token_is_never_more_than_its_person(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    boss, org_id, project_id = await boss_of(world, admin)
    whole = await boss.made("/personal-tokens", {"name": "all of me"})
    narrow = await boss.made(
        "/personal-tokens",
        {
            "name": "reads one project",
            "permissions": ["identity.project.read"],
            "scope": project_scope(org_id, project_id),
            "expires_in_seconds": 3600,
        },
    )
    everything, little = boss.with_token(whole["secret"]), boss.with_token(narrow["secret"])
    assert (await everything.get(f"/tenants/{org_id}")).status_code == 200
    assert (await little.get(f"/projects/{project_id}")).status_code == 200
    assert (await little.get(f"/tenants/{org_id}")).status_code == 403
    held = (await little.seen("/whoami"))["permissions"]
    assert held == [
        {
            "scope": project_scope(org_id, project_id),
            "only_here": False,
            "permissions": ["identity.project.read"],
        }
    ]
    clock.advance(hours=2)
    assert (await little.get("/whoami")).json()["code"] == "token_expired"
    listed = (await boss.seen("/personal-tokens"))["items"]
    assert [item["name"] for item in listed] == ["all of me"]
    assert "secret" not in listed[0]
    await boss.delete(f"/personal-tokens/{whole['id']}")
    assert (await everything.get("/whoami")).json()["code"] == "unauthenticated"


async def test_a_token_makes_no_token_and_no_password(world: World, admin: Browser) -> None:
    token = await admin.made(
        "/personal-tokens", {"name": "narrow", "permissions": ["identity.tenant.read"]}
    )
    script = admin.with_token(token["secret"])
    made = await script.post("/personal-tokens", {"name": "wider"})
    assert made.json()["code"] == "permission_denied"
    me = await script.seen("/whoami")
    body = {"password": "another horse battery", "current_password": PASSWORD}
    assert (await script.put(f"/users/{me['id']}/password", body)).status_code == 403
    bound = {"email": "x@example.org", "role": "auditor", "scope": {"kind": "platform"}}
    assert (await script.post("/role-bindings", bound)).status_code == 403


async def test_a_token_for_keys_one_does_not_hold_is_refused(world: World, admin: Browser) -> None:
    boss, org_id, _ = await boss_of(world, admin)
    body = {"name": "x", "permissions": ["identity.tenant.create"]}
    assert (await boss.post("/personal-tokens", body)).json()["code"] == "permission_denied"
    wide = {"name": "x", "permissions": ["custody.grant.create"], "scope": tenant_scope(org_id)}
    assert (await admin.post("/personal-tokens", wide)).json()["code"] == "permission_denied"


async def test_a_personal_token_follows_what_its_person_loses(world: World, admin: Browser) -> None:
    boss, org_id, _ = await boss_of(world, admin)
    token = await boss.made("/personal-tokens", {"name": "script"})
    script = boss.with_token(token["secret"])
    held = (await admin.seen("/role-bindings", principal_id=boss.user_id))["items"]
    assert (await admin.delete(f"/role-bindings/{held[0]['id']}")).status_code == 204
    assert (await script.get(f"/tenants/{org_id}")).status_code == 404
    await admin.patch(f"/users/{boss.user_id}", {"active": False})
    assert (await script.get("/whoami")).json()["code"] == "unauthenticated"


async def test_other_peoples_tokens_and_sessions_do_not_exist(world: World, admin: Browser) -> None:
    boss, _, _ = await boss_of(world, admin)
    token = await boss.made("/personal-tokens", {"name": "mine"})
    session = (await boss.seen("/sessions"))["items"][0]
    assert (await admin.delete(f"/personal-tokens/{token['id']}")).status_code == 404
    assert (await admin.delete(f"/sessions/{session['id']}")).status_code == 404
