"""Access credentials and runtime secrets: kept, sealed to their reader, ended, never seen."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from canary_sinks import Canaries, database_dump
from cryptography.exceptions import InvalidTag
from custody_fixtures import Reader, Site, private_key_make, reader_make, site_make, swept
from openbao_server import OpenBao, openbao_running
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.custody.secret_store import PART
from gpuaas_platform.custody.vault_store import VaultStore
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.settings import Settings

pytestmark = pytest.mark.integration
KEY = "a-key-of-this-test-only"


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> Site:
    return await site_make(client, platform, callers)


@pytest.fixture
async def reader(site: Site) -> Reader:
    return await reader_make(site)


async def _credential(site: Site, **more: Any) -> Any:
    body = {"name": "old-host", "username": "root", "private_key": private_key_make()} | more
    answer = await site.post(
        f"/projects/{site.place.project_id}/access-credentials", body, site.admin
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


async def _secret(site: Site, **more: Any) -> Any:
    body = {"name": "cluster-key"} | (more or {"random": {}})
    answer = await site.post(f"/projects/{site.place.project_id}/runtime-secrets", body, site.admin)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def _delivered(site: Site, reader: Reader, path: str, **headers: str) -> httpx2.Response:
    return await site.post(f"{path}/deliveries", {}, reader.headers, **headers)


async def test_a_credential_reaches_its_reader_and_nobody_else(site: Site, reader: Reader) -> None:
    key = private_key_make()
    made = await _credential(site, private_key=key)
    assert made["fingerprint"].startswith("SHA256:")
    answer = await _delivered(site, reader, f"/access-credentials/{made['id']}")
    assert answer.status_code == 200, answer.text
    sealed = answer.json()["sealed"]
    assert reader.opened(sealed).decode() == key
    other = await reader_make(site)
    with pytest.raises(InvalidTag):
        other.opened(sealed)
    with pytest.raises(InvalidTag):
        reader.opened(sealed | {"info": sealed["info"] + "x"})
    read = await site.client.get(f"/access-credentials/{made['id']}", headers=site.admin)
    assert read.json()["deliveries"] == 1


async def test_deliveries_of_a_credential_are_bounded(site: Site, reader: Reader) -> None:
    made = await _credential(site, deliveries_max=2)
    path = f"/access-credentials/{made['id']}"
    statuses = [(await _delivered(site, reader, path)).status_code for _ in range(3)]
    assert statuses == [200, 200, 409]
    audited = await site.platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE action = 'custody.credential.deliver'"
        " AND outcome = 'allowed'"
    )
    assert audited == 2


async def test_a_rotated_credential_names_its_predecessor(
    site: Site, reader: Reader, clock: Any
) -> None:
    first = await _credential(site)
    path = f"/access-credentials/{first['id']}"
    body = {"private_key": private_key_make(), "overlap_seconds": 600}
    answer = await site.post(f"{path}/rotate", body, site.admin)
    assert answer.status_code == 201, answer.text
    assert answer.json()["predecessor_id"] == first["id"]
    assert (await site.post(f"{path}/rotate", body, site.admin)).status_code == 409
    assert (await _delivered(site, reader, path)).status_code == 200
    clock.advance(minutes=11)
    assert (await _delivered(site, reader, path)).status_code == 409
    await swept(site.platform)
    ended = await site.client.get(path, headers=site.admin)
    assert ended.json()["status"] == "expired"
    body = {"private_key": private_key_make()}
    path = f"/access-credentials/{answer.json()['id']}"
    third = await site.post(f"{path}/rotate", body, site.admin)
    assert third.status_code == 201, third.text
    gone = await site.client.get(path, headers=site.admin)
    assert gone.json()["status"] == "revoked"
    assert (await _delivered(site, reader, path)).status_code == 409


async def test_a_revoked_key_is_deleted(site: Site, reader: Reader, clock: Any) -> None:
    made = await _credential(site)
    path = f"/access-credentials/{made['id']}"
    answer = await site.post(f"{path}/revoke", {"reason": "Host is gone."}, site.admin)
    assert (answer.status_code, answer.json()["status"]) == (200, "revoked")
    await swept(site.platform)
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_values") == 0
    assert (await _delivered(site, reader, path)).status_code == 409
    assert (await site.post(f"{path}/revoke", {}, site.admin)).status_code == 409
    await _credential(site)  # the name is free again


async def test_only_keys_that_work_without_a_person_are_taken(site: Site, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "passphrase", "-f", str(locked)]
    await asyncio.to_thread(subprocess.run, command, check=True)
    for wrong in ("nonsense", locked.read_text(), private_key_make()[:200]):
        body = {"name": "x", "username": "root", "private_key": wrong}
        path = f"/projects/{site.place.project_id}/access-credentials"
        answer = await site.post(path, body, site.admin)
        assert answer.status_code == 422, answer.text
        assert wrong == "nonsense" or wrong[40:80] not in answer.text
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_values") == 0


async def test_a_secret_is_delivered_once_per_reader_and_task(site: Site, reader: Reader) -> None:
    made = await _secret(site, value="a given value")
    path = f"/runtime-secrets/{made['id']}"
    first = await _delivered(site, reader, path, Idempotency_Key=KEY)
    assert reader.opened(first.json()["sealed"]) == b"a given value"
    again = await _delivered(site, reader, path, Idempotency_Key=KEY)
    assert again.content == first.content, "a lost answer can be had again"
    assert (await _delivered(site, reader, path)).status_code == 409
    task = await site.post(f"{path}/deliveries", {"task": "task_2"}, reader.headers)
    assert task.status_code == 200
    other = await reader_make(site)
    answer = await _delivered(site, other, path)
    assert other.opened(answer.json()["sealed"]) == b"a given value"


async def test_simultaneous_requests_get_one_delivery(site: Site, reader: Reader) -> None:
    made = await _secret(site)
    path = f"/runtime-secrets/{made['id']}"
    answers = await asyncio.gather(*(_delivered(site, reader, path) for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409, 409]


@pytest.mark.parametrize(
    ("wanted", "length"),
    [
        ({"encoding": "binary", "length": 1024}, 1024),
        ({"encoding": "hex"}, 64),
        ({"template": "password={secret}\n", "length": 24}, 42),
    ],
)
async def test_a_random_value_has_the_wanted_form(
    site: Site, reader: Reader, wanted: dict[str, Any], length: int
) -> None:
    made = await _secret(site, random=wanted)
    answer = await _delivered(site, reader, f"/runtime-secrets/{made['id']}")
    assert len(reader.opened(answer.json()["sealed"])) == length


async def test_a_rotation_ends_the_version_before(site: Site, reader: Reader) -> None:
    made = await _secret(site, value="version one")
    path = f"/runtime-secrets/{made['id']}"
    assert (await _delivered(site, reader, path)).json()["version"] == 1
    answer = await site.post(f"{path}/rotate", {"value": "version two"}, site.admin)
    assert (answer.status_code, answer.json()["version"]) == (200, 2)
    second = (await _delivered(site, reader, path)).json()
    assert (second["version"], reader.opened(second["sealed"])) == (2, b"version two")
    await swept(site.platform)
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_values") == 1


async def test_a_lease_ends_by_itself(site: Site, reader: Reader, clock: Any) -> None:
    made = await _secret(site, random={}, lease_seconds=60)
    path = f"/runtime-secrets/{made['id']}"
    clock.advance(seconds=61)
    assert (await _delivered(site, reader, path)).status_code == 409
    await swept(site.platform)
    read = await site.client.get(path, headers=site.admin)
    assert read.json()["status"] == "expired"
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_values") == 0
    told = await site.platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE action = 'custody.secret.expire'"
    )
    assert told == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"value": "x", "random": {}},
        {"random": {"template": "no place for it"}},
        {"random": {"length": 8}},
    ],
)
async def test_a_source_makes_sense(site: Site, wrong: dict[str, Any]) -> None:
    path = f"/projects/{site.place.project_id}/runtime-secrets"
    answer = await site.post(path, {"name": "x"} | wrong, site.admin)
    assert answer.status_code == 422, answer.text
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_sweep") == 0


async def test_people_and_accounts_without_a_key_read_nothing(site: Site) -> None:
    made, credential = await _secret(site), await _credential(site)
    unregistered = await reader_make(site, registered=False)
    for who in (site.admin, unregistered.headers):
        for path in (f"/runtime-secrets/{made['id']}", f"/access-credentials/{credential['id']}"):
            answer = await site.post(f"{path}/deliveries", {}, who)
            assert (answer.status_code, answer.json()["code"]) == (409, "state_conflict")


async def test_whoever_may_not_is_refused_and_strangers_learn_nothing(site: Site) -> None:
    secret, credential = await _secret(site), await _credential(site)
    foreign = await project_make(site.platform, "rival", "theirs")
    stranger = bearer(site.callers.add(RoleName.PROJECT_ADMIN, foreign))
    stored = await site.platform.db.fetchval("SELECT count(*) FROM secret_values")
    key = {"private_key": private_key_make()}
    for who, status in ((site.viewer, 403), (site.member, 403), (stranger, 404)):
        for path, body in (
            (f"/projects/{site.place.project_id}/runtime-secrets", {"name": "x", "value": "y"}),
            (f"/projects/{site.place.project_id}/access-credentials",
             {"name": "x", "username": "root"} | key),
            (f"/runtime-secrets/{secret['id']}/rotate", {"value": "y"}),
            (f"/runtime-secrets/{secret['id']}/revoke", {}),
            (f"/runtime-secrets/{secret['id']}/deliveries", {}),
            (f"/access-credentials/{credential['id']}/rotate", key),
            (f"/access-credentials/{credential['id']}/revoke", {}),
            (f"/access-credentials/{credential['id']}/deliveries", {}),
        ):  # fmt: skip
            answer = await site.post(path, body, who)
            assert answer.status_code == status, (path, answer.text)
        for path in (f"/runtime-secrets/{secret['id']}", f"/access-credentials/{credential['id']}"):
            assert (await site.client.get(path, headers=who)).status_code == status
        for path in ("/runtime-secrets", "/access-credentials"):
            assert (await site.client.get(path, headers=who)).json()["items"] == []
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_values") == stored


async def test_the_same_holds_with_secrets_in_openbao(
    site: Site, reader: Reader, openbao: OpenBao
) -> None:
    vault = VaultStore(Settings(**openbao.settings))
    embedded, site.platform.parts[PART] = site.platform.parts[PART], vault
    made = await _secret(site, value="a value elsewhere")
    path = f"/runtime-secrets/{made['id']}"
    row = await site.platform.db.fetchrow("SELECT secret_path FROM runtime_secrets")
    assert row is not None
    assert await vault.versions(row["secret_path"]) == [1]
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_values") == 0
    answer = await _delivered(site, reader, path)
    assert reader.opened(answer.json()["sealed"]) == b"a value elsewhere"
    assert (await site.post(f"{path}/revoke", {}, site.admin)).status_code == 200
    await swept(site.platform)
    assert await vault.versions(row["secret_path"]) == []
    vault.close()
    site.platform.parts[PART] = embedded


async def test_an_outage_is_answered_and_leaves_nothing_half_made(
    site: Site, reader: Reader, clock: Any
) -> None:
    with openbao_running() as server:
        vault = VaultStore(Settings(**server.settings))
        site.platform.parts[PART] = vault
        made = await _secret(site, value="before the outage")
    path = f"/runtime-secrets/{made['id']}"
    project = f"/projects/{site.place.project_id}/runtime-secrets"
    for answer in (
        await _delivered(site, reader, path),
        await site.post(f"{path}/rotate", {"value": "never"}, site.admin),
        await site.post(project, {"name": "other", "value": "never"}, site.admin),
    ):
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"]
    read = await site.client.get(path, headers=site.admin)
    assert (read.json()["version"], read.json()["status"]) == (1, "active")
    assert await site.platform.db.fetchval("SELECT count(*) FROM runtime_secrets") == 1
    assert await site.platform.db.fetchval("SELECT count(*) FROM secret_deliveries") == 0
    vault.close()


async def test_no_secret_is_seen_anywhere(
    site: Site, reader: Reader, database_url: str, tmp_path: Path, capfd: Any
) -> None:
    canaries, answers = Canaries(), []

    def told(answer: httpx2.Response) -> Any:
        answers.append(answer.content)
        return answer.json()

    def keyed(name: str) -> str:
        key = private_key_make()
        canaries.keep(name, key.splitlines()[3])  # where the private half is
        return key

    value = canaries.keep("given value", "canary-given-value-1")
    rotated = canaries.keep("rotated value", "canary-rotated-value-2")
    refused = canaries.keep("refused value", "canary-refused-value-3")
    project = f"/projects/{site.place.project_id}"
    kept: dict[str, str] = {"Idempotency_Key": KEY + "-create"}
    secret = told(
        await site.post(f"{project}/runtime-secrets", {"name": "s", "value": value}, site.admin,
                        **kept)
    )  # fmt: skip
    body = {"name": "c", "username": "root", "private_key": keyed("key")}
    credential = told(await site.post(f"{project}/access-credentials", body, site.admin))
    for bad in ({"value": refused}, {"name": "BAD", "value": refused},
                {"name": "s", "value": refused}, {"name": "t", "value": refused, "random": {}},
                {"name": "u", "value": refused, "extra": refused}):  # fmt: skip
        told(await site.post(f"{project}/runtime-secrets", bad, site.admin))
    broken = keyed("broken key").replace("BEGIN", "BEGUN")
    told(await site.post(f"{project}/access-credentials", body | {"private_key": broken},
                         site.admin))  # fmt: skip
    for path in (f"/runtime-secrets/{secret['id']}", f"/access-credentials/{credential['id']}"):
        told(await _delivered(site, reader, path, Idempotency_Key=KEY))
        told(await _delivered(site, reader, path, Idempotency_Key=KEY))
        told(await site.client.get(path, headers=site.admin))
    told(await site.post(f"/runtime-secrets/{secret['id']}/rotate", {"value": rotated},
                         site.admin))  # fmt: skip
    told(await site.post(f"/access-credentials/{credential['id']}/rotate",
                         {"private_key": keyed("next key")}, site.admin))  # fmt: skip
    dump = await asyncio.to_thread(database_dump, database_url, tmp_path / "dump")
    written = capfd.readouterr()
    for name, sink in (
        ("answers", b"\n".join(answers)),
        ("database", dump),
        ("logs", (written.out + written.err).encode()),
    ):
        assert canaries.seen_in(sink) == [], name
    assert b"custody.secret.delivered" in dump
    assert "runtime-secrets" in written.out + written.err, "the logs were captured"
