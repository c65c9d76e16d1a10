"""Access grants through the API: who gets one, for what, and what is left on record."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from custody_fixtures import HOST_KEY, USER_KEY, Site, site_make, swept
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.custody.authority import signing_key
from gpuaas_platform.custody.secret_store import PART, secret_store_of
from gpuaas_platform.custody.vault_store import VaultStore
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.settings import Settings

pytestmark = pytest.mark.integration
KEY = "a-key-of-this-test-only"


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> Site:
    return await site_make(client, platform, callers)


async def test_a_grant_says_where_it_leads_and_is_listed(site: Site) -> None:
    issued = await site.grant(ttl_seconds=60, source_address=["10.1.2.3/32"])
    grant = issued["grant"]
    assert issued["known_hosts"] == [f"127.0.0.1 {HOST_KEY}"]
    assert grant["principal"] == site.allocations[0]
    assert grant["source_address"] == ["10.1.2.3/32"]
    other = await site.grant(1)
    assert other["grant"]["serial"] != grant["serial"]
    listed = await site.client.get("/access-grants", headers=site.operator)
    assert [one["id"] for one in listed.json()["items"]] == [other["grant"]["id"], grant["id"]]
    narrow = {"allocation_id": site.allocations[0], "project_id": site.place.project_id or ""}
    listed = await site.client.get("/access-grants", params=narrow, headers=site.operator)
    assert listed.json()["items"] == [grant]
    read = await site.client.get(f"/access-grants/{grant['id']}", headers=site.operator)
    assert read.json() == grant


async def test_whoever_may_not_is_refused_and_strangers_learn_nothing(site: Site) -> None:
    path = f"/allocations/{site.allocations[0]}/access-grants"
    elsewhere = await project_make(site.platform, "acme", "elsewhere")
    foreign = await project_make(site.platform, "rival", "theirs")
    neighbour = bearer(site.callers.add(RoleName.PROJECT_ADMIN, elsewhere))
    stranger = bearer(site.callers.add(RoleName.PROJECT_ADMIN, foreign))
    grant = (await site.grant())["grant"]["id"]
    for who, status in ((site.viewer, 403), (neighbour, 404), (stranger, 404)):
        answer = await site.post(path, {"public_key": USER_KEY}, who)
        assert answer.status_code == status, answer.text
        revoked = await site.post(f"/access-grants/{grant}/revoke", {}, who)
        assert revoked.status_code == status
        read = await site.client.get(f"/access-grants/{grant}", headers=who)
        assert read.status_code == status
        listed = await site.client.get("/access-grants", headers=who)
        assert listed.json()["items"] == []
    missing = await site.post("/allocations/alloc_none/access-grants", {"public_key": USER_KEY},
                              site.operator)  # fmt: skip
    assert missing.status_code == 404
    denied = await site.platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE outcome = 'denied'"
        " AND action = 'custody.grant.create'"
    )
    assert denied == 3
    assert await site.platform.db.fetchval("SELECT count(*) FROM access_grants") == 1


async def test_many_machines_are_one_request_with_a_grant_each(site: Site) -> None:
    body = {"public_key": USER_KEY, "allocation_ids": list(site.allocations)}
    answer = await site.post("/access-grants", body, site.operator)
    assert answer.status_code == 201, answer.text
    issued = answer.json()["issued"]
    assert [one["grant"]["principal"] for one in issued] == list(site.allocations)
    assert len({one["grant"]["serial"] for one in issued}) == 2
    assert len({one["certificate"] for one in issued}) == 2
    assert answer.json()["refused"] == []
    audited = await site.platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE action = 'custody.grant.create'"
    )
    assert audited == 2
    twice = {**body, "allocation_ids": [site.allocations[0]] * 2}
    assert (await site.post("/access-grants", twice, site.operator)).status_code == 422


async def test_a_machine_that_cannot_be_reached_does_not_take_the_others_along(site: Site) -> None:
    released = await site.post(f"/allocations/{site.allocations[0]}/release", {}, site.admin)
    assert released.is_success, released.text
    body = {"public_key": USER_KEY, "allocation_ids": list(site.allocations)}
    answer = (await site.post("/access-grants", body, site.operator)).json()
    assert [one["grant"]["allocation_id"] for one in answer["issued"]] == [site.allocations[1]]
    [refused] = answer["refused"]
    assert (refused["allocation_id"], refused["code"]) == (site.allocations[0], "state_conflict")
    alone = {"public_key": USER_KEY, "allocation_ids": [site.allocations[0]]}
    assert (await site.post("/access-grants", alone, site.operator)).status_code == 409


async def test_one_machine_of_somebody_else_refuses_them_all(site: Site) -> None:
    foreign = await project_make(site.platform, "rival", "theirs")
    stranger = bearer(site.callers.add(RoleName.PROJECT_ADMIN, foreign))
    body = {"public_key": USER_KEY, "allocation_ids": [*site.allocations, "alloc_none"]}
    for who in (site.operator, stranger):
        assert (await site.post("/access-grants", body, who)).status_code == 404
    assert await site.platform.db.fetchval("SELECT count(*) FROM access_grants") == 0


async def test_a_repeated_request_gets_the_same_certificate(site: Site) -> None:
    path = f"/allocations/{site.allocations[0]}/access-grants"
    answers = [
        await site.post(path, {"public_key": USER_KEY}, site.operator, Idempotency_Key=KEY)
        for _ in range(2)
    ]
    assert answers[0].content == answers[1].content
    assert await site.platform.db.fetchval("SELECT count(*) FROM access_grants") == 1


async def test_only_a_machine_that_is_held_can_be_reached(site: Site) -> None:
    released = await site.post(f"/allocations/{site.allocations[0]}/release", {}, site.admin)
    assert released.status_code == 200, released.text
    path = f"/allocations/{site.allocations[0]}/access-grants"
    answer = await site.post(path, {"public_key": USER_KEY}, site.operator)
    assert (answer.status_code, answer.json()["code"]) == (409, "state_conflict")


async def test_a_machine_that_is_set_aside_is_its_holder_s_to_clean(site: Site) -> None:
    aside = "UPDATE allocations SET status = 'cleanup_blocked' WHERE id = $1"
    await site.platform.db.execute(aside, site.allocations[0])
    path = f"/allocations/{site.allocations[0]}/access-grants"
    answer = await site.post(path, {"public_key": USER_KEY}, site.operator)
    assert answer.is_success, answer.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"public_key": "ssh-ed25519 AAAA"},
        {"ttl_seconds": 59},
        {"ttl_seconds": 901},
        {"source_address": ["10.0.0.1/8"]},
        {"source_address": ["everywhere"]},
        {"force_command": "two\nlines"},
    ],
)
async def test_what_makes_no_sense_is_refused(site: Site, wrong: dict[str, Any]) -> None:
    path = f"/allocations/{site.allocations[0]}/access-grants"
    answer = await site.post(path, {"public_key": USER_KEY} | wrong, site.operator)
    assert answer.status_code == 422, answer.text


async def test_the_record_tells_of_the_grant_and_not_the_certificate(site: Site) -> None:
    issued = await site.grant()
    blob = issued["certificate"].split()[1]
    rows = await site.platform.db.fetch(
        "SELECT a.action AS kind, a.detail AS told FROM audit_entries a"
        " UNION ALL SELECT o.type, o.data FROM outbox o"
        " UNION ALL SELECT e.type, e.data FROM events e"
    )
    told = [row for row in rows if row["kind"].startswith("custody.grant.create")]
    assert len(told) >= 2
    for row in rows:
        assert blob not in json.dumps(row["told"])
    assert all(row["told"]["serial"] == issued["grant"]["serial"] for row in told)


async def test_a_grant_is_revoked_once(site: Site, clock: Any) -> None:
    issued = await site.grant()
    path = f"/access-grants/{issued['grant']['id']}/revoke"
    before = (await site.client.get("/ssh/krl")).content
    answer = await site.post(path, {"reason": "lost"}, site.operator)
    assert answer.json()["revoke_reason"] == "lost"
    assert (await site.post(path, {}, site.operator)).status_code == 409
    listed = (await site.client.get("/ssh/krl")).content
    assert len(listed) > len(before)
    clock.advance(hours=1)
    assert len((await site.client.get("/ssh/krl")).content) == len(before), "ended by itself"


async def test_only_platform_administrators_rotate_the_authority(site: Site) -> None:
    body = {"reason": "Yearly."}
    for who in (site.admin, site.operator):
        assert (await site.post("/ssh/ca/rotate", body, who)).status_code == 403
    assert (await site.post("/ssh/ca/rotate", {}, site.root)).status_code == 422
    stored = await site.platform.db.fetchval("SELECT count(*) FROM secret_values")
    assert stored == 0, "nothing is made for who may not"


async def test_the_authority_is_always_one_key_ahead(site: Site, clock: Any) -> None:
    async def states() -> dict[str, str]:
        keys = (await site.client.get("/ssh/ca")).json()["keys"]
        return {key["status"]: key["id"] for key in keys}

    async def rotate(**more: Any) -> httpx2.Response:
        return await site.post("/ssh/ca/rotate", {"reason": "test"} | more, site.root)

    first = await states()
    assert set(first) == {"current", "upcoming"}
    assert (await rotate()).status_code == 200
    second = await states()
    assert second["current"] == first["upcoming"]
    assert second["previous"] == first["current"]
    early = await rotate()
    assert (early.status_code, early.json()["code"]) == (409, "state_conflict")
    clock.advance(minutes=15)
    assert (await rotate()).status_code == 200
    third = await states()
    assert first["current"] not in third.values()
    assert (await rotate(distrust=True)).status_code == 200
    fourth = await states()
    assert third["current"] not in fourth.values()
    assert fourth["current"] == third["upcoming"]
    clock.advance(hours=2)  # the refused rotation left a key nobody names, too
    await swept(site.platform)
    kept = await site.platform.db.fetchval("SELECT count(*) FROM secret_values")
    assert kept == len(fourth), "a key that signs no more is kept nowhere"
    assert await site.platform.db.fetchval("SELECT count(*) FROM ssh_ca_keys") == 5


async def test_many_who_need_it_first_make_one_authority(platform: Platform) -> None:
    keys = await asyncio.gather(*(signing_key(platform) for _ in range(6)))
    assert len({key.id for key in keys}) == 1
    assert await platform.db.fetchval("SELECT count(*) FROM ssh_ca_keys") == 2


async def test_an_outage_of_the_secret_store_leaves_nothing_half_made(
    site: Site, settings: Settings, tmp_path: Any
) -> None:
    (tmp_path / "secret-id").write_text("x")
    lost = settings.model_copy(
        update={
            "vault_addr": "http://127.0.0.1:9",
            "vault_role_id": "x",
            "vault_secret_id_file": tmp_path / "secret-id",
        }
    )
    embedded = secret_store_of(site.platform)
    vault = VaultStore(lost)
    site.platform.parts[PART] = vault
    path = f"/allocations/{site.allocations[0]}/access-grants"
    answer = await site.post(path, {"public_key": USER_KEY}, site.operator, Idempotency_Key=KEY)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.json()["detail"] == "The secret store does not answer; try again."
    assert await site.platform.db.fetchval("SELECT count(*) FROM ssh_ca_keys") == 0
    assert await site.platform.db.fetchval("SELECT count(*) FROM access_grants") == 0
    vault.close()
    site.platform.parts[PART] = embedded
    again = await site.post(path, {"public_key": USER_KEY}, site.operator, Idempotency_Key=KEY)
    assert again.status_code == 201, "the same key works once the store is back"


async def test_a_replica_that_missed_a_rotation_signs_with_the_new_key(site: Site) -> None:
    before = await site.grant()
    stale = dict(site.platform.parts)
    rotated = await site.post("/ssh/ca/rotate", {"reason": "test"}, site.root)
    current = [key["id"] for key in rotated.json()["keys"] if key["status"] == "current"]
    site.platform.parts["custody.signing_key"] = stale["custody.signing_key"]
    after = await site.grant()
    assert after["grant"]["ca_key_id"] != before["grant"]["ca_key_id"]
    assert [after["grant"]["ca_key_id"]] == current
