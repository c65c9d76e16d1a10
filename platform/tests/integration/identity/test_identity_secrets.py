"""No secret of this room is in any row, event, audit entry, log line or answer but its own."""

import json

import pytest
from identity_fixtures import (
    PASSWORD,
    Browser,
    World,
    key_exchanged,
    operator_made,
    tenant_made,
    tenant_scope,
)

from gpuaas_contract.identity import LOOPBACK_SESSION_COOKIE

CANARY = "canary-password-8472"


async def everything_stored(world: World) -> str:
    """Every row of every table, as text."""
    db = world.platform.db
    tables = await db.fetch(
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
        " WHERE nspname = 'gpuaas' AND relkind = 'r'"
    )
    texts = []
    for table in tables:
        rows = await db.fetch(f"SELECT to_jsonb(t)::text AS row FROM {table['relname']} t")  # noqa: S608 - the catalog's own names
        texts += [row["row"] for row in rows]
    return "\n".join(texts)


async def test_secrets_are_in_their_own_answer_alone(
    world: World, admin: Browser, capfd: pytest.CaptureFixture[str]
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    operator = await operator_made(boss, project_id)
    person = {"email": "canary@example.org", "password": CANARY}
    made = await boss.post(f"/tenants/{org_id}/users", person, Idempotency_Key="k" * 30)
    changed = await boss.put(
        f"/users/{made.json()['id']}/password", {"password": CANARY + "-second"}
    )
    key = await boss.post(f"/service-accounts/{operator['id']}/keys", {}, Idempotency_Key="l" * 30)
    token = await key_exchanged(boss, key.json()["secret"])
    personal = await boss.post("/personal-tokens", {"name": "x"}, Idempotency_Key="m" * 30)
    wrong = {"email": CANARY + "@typed-into-the-wrong-field", "password": CANARY}
    failed = await world.browser().post("/sessions", wrong)
    body = {"email": "x", "password": {"oops": CANARY}}
    malformed = await world.browser().post("/sessions", body)
    session = await world.browser().post(
        "/sessions",
        {"email": "canary@example.org", "password": CANARY + "-second"},
        Idempotency_Key="n" * 30,
    )
    assert [changed.status_code, failed.status_code, malformed.status_code] == [204, 401, 422]
    assert session.status_code == 201
    cookie = session.cookies.get(LOOPBACK_SESSION_COOKIE)
    secrets = [
        CANARY,
        PASSWORD,
        key.json()["secret"].split("_", 2)[2],
        token.json()["access_token"].partition("_")[2],
        personal.json()["secret"].partition("_")[2],
        str(cookie).partition("_")[2],
    ]
    stored = await everything_stored(world)
    logged = "".join(capfd.readouterr())
    answered = json.dumps([one.text for one in (made, changed, failed, malformed, session)])
    for secret in secrets:
        assert len(secret) > 15
        for sink in (stored, logged, answered):
            assert secret not in sink
            assert secret.encode().hex() not in sink
