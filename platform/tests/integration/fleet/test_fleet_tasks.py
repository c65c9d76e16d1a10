"""Node tasks: asked for on an allocation, begun once, ended by the machine's word, bounded."""

import asyncio
import base64
from pathlib import Path
from typing import Any

from canary_sinks import Canaries, database_dump
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from eventually import eventually
from fleet_fixtures import FleetSite, PaperAgent
from observed_calls import Waits

from gpuaas_platform.capacity.nodes import node_topic
from gpuaas_platform.fleet.life import sweep_turn
from gpuaas_platform.fleet.tasks import task_topic

SCRIPT = {"kind": "run_script", "script": "echo hello"}
ENDED = {"status": "succeeded", "code": "ok", "exit_status": 0, "seconds": 0.5}


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_a_task_is_pulled_begun_and_ended_once(site: FleetSite) -> None:
    task = await site.task(SCRIPT, label="greet")
    assert (task["status"], task["kind"]) == ("queued", "run_script")
    (direction,) = (await site.agent.poll())["tasks"]
    assert direction["task_id"] == task["id"]
    assert direction["spec"]["script"] == "echo hello"
    assert direction["correlation_id"] == "story-1"
    assert (await site.agent.poll(held=[task["id"]]))["tasks"] == []
    path = f"/tasks/{task['id']}"
    for _ in range(2):  # the answer may be lost
        started = await site.agent.post(f"{path}/start")
        assert (started.status_code, started.json()["status"]) == (200, "running")
    for _ in range(2):
        sent = await site.agent.post(f"{path}/output", {"offset": 0, "data": _b64(b"hello\n")})
        assert sent.json()["output_bytes"] == 6
    early = await site.agent.post(f"{path}/output", {"offset": 99, "data": _b64(b"x")})
    assert (early.status_code, early.json()["context"]) == (409, {"output_bytes": "6"})
    overlap = await site.agent.post(f"{path}/output", {"offset": 3, "data": _b64(b"lo\nbye\n")})
    assert overlap.json()["output_bytes"] == 10
    for _ in range(2):
        ended = await site.agent.post(f"{path}/end", ENDED)
        assert ended.json()["status"] == "succeeded"
    output = await site.get(f"/node-tasks/{task['id']}/output", offset=2)
    assert base64.b64decode(output["data"]) == b"llo\nbye\n"
    assert output["complete"] is True
    timeline = await site.get("/correlations/story-1")
    entries = [one for one in timeline["entries"] if one["kind"] == "task"]
    assert [one["id"] for one in entries] == [task["id"]]
    assert entries[0]["title"].startswith("Task “greet”")
    assert entries[0]["span"]["id"] == task["id"]
    (written,) = [one for one in timeline["entries"] if one["kind"] == "log"]
    assert written["detail"] == {"output": ["hello", "bye"], "span_id": task["id"]}
    assert written["title"].endswith("wrote 10 bytes.")

    async def numbered() -> bool:
        events = await site.get("/events", correlation_id="story-1")
        kinds = {one["type"].rpartition(".")[2] for one in events["items"]}
        return {"queued", "running", "succeeded"} <= kinds

    await eventually(numbered)


async def test_a_waiting_agent_is_woken(site: FleetSite, waits: Waits) -> None:
    await site.agent.poll()
    waiting = asyncio.create_task(site.agent.poll("20s"))
    await waits.begun(node_topic(site.agent.node_id))
    task = await site.task(SCRIPT)
    said = await asyncio.wait_for(waiting, 60)
    assert [one["task_id"] for one in said["tasks"]] == [task["id"]]
    reader = asyncio.create_task(
        site.get(f"/node-tasks/{task['id']}", wait="20s", after=task["revision"])
    )
    await waits.begun(task_topic(task["id"]))
    await site.agent.post(f"/tasks/{task['id']}/start")
    assert (await asyncio.wait_for(reader, 60))["status"] == "running"


async def test_what_expired_has_never_begun(site: FleetSite, clock: Any) -> None:
    task = await site.task(SCRIPT, begin_within_seconds=60)
    clock.advance(seconds=61)
    assert (await site.agent.poll())["tasks"] == []
    late = await site.agent.post(f"/tasks/{task['id']}/start")
    assert late.status_code == 409
    await sweep_turn(site.platform)
    assert (await site.get(f"/node-tasks/{task['id']}"))["status"] == "expired"


async def test_cancelling(site: FleetSite) -> None:
    never = await site.task(SCRIPT)
    path = f"/node-tasks/{never['id']}/cancel"
    answer = await site.client.post(path, json={"reason": "no"}, headers=site.operator)
    assert (answer.json()["status"], answer.json()["result"]["code"]) == ("cancelled", "cancelled")
    task = await site.task(SCRIPT)
    await site.agent.post(f"/tasks/{task['id']}/start")
    path = f"/node-tasks/{task['id']}/cancel"
    asked = await site.client.post(path, json={}, headers=site.operator)
    assert asked.json()["status"] == "running"
    held = [task["id"]]
    assert (await site.agent.poll(held=held))["cancel"] == held
    assert (await site.agent.poll(held=held, stopping=held))["cancel"] == []
    body = {"status": "cancelled", "code": "cancelled"}
    await site.agent.post(f"/tasks/{task['id']}/end", body)
    assert (await site.get(f"/node-tasks/{task['id']}"))["status"] == "cancelled"
    again = await site.client.post(path, json={}, headers=site.operator)
    assert again.status_code == 409


async def test_a_machine_that_forgot_a_task_is_not_asked_again(site: FleetSite, clock: Any) -> None:
    task = await site.task(SCRIPT)
    await site.agent.post(f"/tasks/{task['id']}/start")
    assert (await site.agent.poll())["tasks"] == []
    assert (await site.get(f"/node-tasks/{task['id']}"))["status"] == "running"
    clock.advance(seconds=90)
    assert (await site.agent.poll())["tasks"] == []
    lost = await site.get(f"/node-tasks/{task['id']}")
    assert (lost["status"], lost["result"]["code"]) == ("failed", "interrupted")


async def test_who_may_and_on_what(site: FleetSite) -> None:
    path = f"/allocations/{site.allocation_id}/tasks"
    for who, status in ((site.viewer, 403), (site.stranger, 404), (site.agent.headers, 404)):
        answer = await site.client.post(path, json={"spec": SCRIPT}, headers=who)
        assert answer.status_code == status
    task = await site.task(SCRIPT)
    hidden = await site.client.get(f"/node-tasks/{task['id']}", headers=site.stranger)
    assert hidden.status_code == 404
    other = await site.enrolment_make(
        node={"name": "n2", "region": "north", "sku": "small", "address": "192.0.2.2"}
    )
    neighbour = PaperAgent(site.client)
    await neighbour.enrol(other["token"])
    await neighbour.sign_in()
    assert (await neighbour.post(f"/tasks/{task['id']}/start")).status_code == 404
    assert (await neighbour.poll())["tasks"] == []
    await site.client.post(f"/allocations/{site.allocation_id}/release", headers=site.admin)
    late = await site.client.post(path, json={"spec": SCRIPT}, headers=site.operator)
    assert (late.status_code, late.json()["code"]) == (409, "state_conflict")


async def test_a_task_never_outlives_its_allocation(site: FleetSite) -> None:
    """What one project asked for is not begun on a machine that another one holds by then."""
    running = await site.task(SCRIPT)
    await site.agent.post(f"/tasks/{running['id']}/start")
    queued = await site.task(SCRIPT)
    await site.client.post(f"/allocations/{site.allocation_id}/release", headers=site.admin)
    next_one = {"name": "next", "sku": "small", "region": "north"}
    path = f"/projects/{site.place.project_id}/allocations"
    answer = await site.client.post(path, json=next_one, headers=site.admin)
    assert answer.status_code == 201
    refused = await site.agent.post(f"/tasks/{queued['id']}/start")
    assert (refused.status_code, "has ended" in refused.json()["detail"]) == (409, True)
    said = await site.agent.poll(held=[running["id"]])
    assert (said["tasks"], said["cancel"]) == ([], [running["id"]])
    ended = await site.get(f"/node-tasks/{queued['id']}")
    assert (ended["status"], ended["result"]["code"]) == ("cancelled", "allocation_ended")
    await site.agent.post(
        f"/tasks/{running['id']}/end", {"status": "cancelled", "code": "cancelled"}
    )
    site.allocation_id = answer.json()["id"]
    mine = await site.task(SCRIPT)
    assert [one["task_id"] for one in (await site.agent.poll())["tasks"]] == [mine["id"]]


async def test_a_secret_travels_sealed_to_the_machine(
    site: FleetSite, database_url: str, tmp_path: Path
) -> None:
    canaries = Canaries()
    value = canaries.keep("secret", "canary-of-the-fleet-0123456789")
    made = await site.client.post(
        f"/projects/{site.place.project_id}/runtime-secrets",
        json={"name": "key", "value": value},
        headers=site.operator,
    )
    secret_id = made.json()["id"]
    spec = {"kind": "deliver_secret", "secret_id": secret_id, "path": "/etc/app/key"}
    refused = await site.client.post(
        f"/allocations/{site.allocation_id}/tasks",
        json={"spec": spec | {"secret_id": "sec_unknown"}},
        headers=site.operator,
    )
    assert refused.status_code == 404
    task = await site.task(spec)
    early = await site.agent.post(f"/tasks/{task['id']}/secret")
    assert early.status_code == 409
    await site.agent.post(f"/tasks/{task['id']}/start")
    key = {"Idempotency-Key": f"{task['id']}/secret"}
    lost = await site.agent.post(f"/tasks/{task['id']}/secret", headers=key)
    answer = await site.agent.post(f"/tasks/{task['id']}/secret", headers=key)
    assert (lost.status_code, answer.status_code) == (200, 200)
    assert answer.content == lost.content
    assert canaries.seen_in(lost.content + answer.content) == []
    again = await site.agent.post(f"/tasks/{task['id']}/secret")
    assert again.status_code == 409
    assert again.json()["detail"] == (
        "The secret of this task was fetched already; it is delivered once."
    )
    rotated = await site.client.post(
        f"/runtime-secrets/{secret_id}/rotate",
        json={"value": f"{value}-next"},
        headers=site.operator,
    )
    assert rotated.status_code == 200, rotated.text
    assert (await site.agent.post(f"/tasks/{task['id']}/secret")).status_code == 409
    sealed = answer.json()["sealed"]
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
    box = base64.b64decode(sealed["ciphertext"])
    opened = suite.decrypt(box, site.agent.sealing, sealed["info"].encode())
    assert opened.decode() == value
    await site.agent.post(f"/tasks/{task['id']}/end", ENDED)
    assert (await site.agent.post(f"/tasks/{task['id']}/secret")).status_code == 409
    assert canaries.seen_in(database_dump(database_url, tmp_path)) == []


async def test_access_is_exactly_that_of_the_holder(site: FleetSite) -> None:
    first = (await site.agent.poll())["access"]
    assert first["principals"] == {"root": [site.allocation_id]}
    assert all(line.startswith("ssh-ed25519 ") for line in first["ca_keys"])
    assert (await site.agent.poll())["access"] is None
    users = {"alice": [f"{site.allocation_id}:alice"], "root": [site.allocation_id]}
    await site.task({"kind": "principals_set", "users": users})
    second = (await site.agent.poll())["access"]
    assert second["principals"] == users
    foreign = await site.client.post(
        f"/allocations/{site.allocation_id}/tasks",
        json={"spec": {"kind": "principals_set", "users": {"root": ["alloc_other"]}}},
        headers=site.operator,
    )
    assert foreign.status_code == 422
    waiting = asyncio.create_task(site.agent.poll("20s", held=[]))
    await site.client.post(f"/allocations/{site.allocation_id}/release", headers=site.admin)
    said = await asyncio.wait_for(waiting, 60)
    while said["access"] is None:  # it was woken by the task above
        said = await site.agent.poll("1s")
    assert said["access"]["principals"] == {}


async def test_what_a_machine_trusts_is_known_by_its_agents_word_alone(site: FleetSite) -> None:
    path = f"/nodes/{site.agent.node_id}/access"
    told = await site.agent.poll()
    assert told["access"] is not None
    assert (await site.get(path, site.root))["applied"] is False  # on its way, not there
    await site.agent.poll()
    said = await site.get(path, site.root)
    assert (said["carrier"], said["applied"], said["error"]) == ("agent", True, "")
    await site.agent.poll(access_error="sshd does not start")
    said = await site.get(path, site.root)
    assert (said["applied"], said["error"]) == (False, "sshd does not start")
    body = {"reason": "burnt down", "force": True}
    await site.client.post(f"/nodes/{site.agent.node_id}/unenrol", json=body, headers=site.root)
    said = await site.get(path, site.root)
    assert (said["carrier"], said["applied"], said["confirmed_at"]) == ("nobody", False, None)


async def test_a_revocation_wakes_the_agent_of_its_machine(site: FleetSite, waits: Waits) -> None:
    await site.agent.poll()
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmtaG8VbnJRA2AQKCdmwG5Ilde0bYkSW9xdCChEXkrf"
    grant = await site.client.post(
        f"/allocations/{site.allocation_id}/access-grants",
        json={"public_key": key},
        headers=site.operator,
    )
    waiting = asyncio.create_task(site.agent.poll("20s"))
    await waits.begun(node_topic(site.agent.node_id))
    grant_id = grant.json()["grant"]["id"]
    await site.client.post(f"/access-grants/{grant_id}/revoke", json={}, headers=site.operator)
    said = await asyncio.wait_for(waiting, 60)
    assert base64.b64decode(said["access"]["krl"]).startswith(b"SSHKRL\n")


async def test_what_is_revoked_elsewhere_is_nothing_to_tell(site: FleetSite) -> None:
    """A machine opens to its holder's certificates alone: its list has theirs, and no others."""
    node = {"name": "n9", "region": "north", "sku": "small", "address": "n9.lab"}
    host_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
    made = await site.client.post(
        "/nodes", json=node | {"host_keys": [host_key]}, headers=site.root
    )
    assert made.status_code == 201, made.text
    wish = {"name": "other", "sku": "small", "region": "north"}
    path = f"/projects/{site.place.project_id}/allocations"
    other = (await site.client.post(path, json=wish, headers=site.admin)).json()["id"]
    await _granted_and_revoked(site, site.allocation_id)
    mine = (await site.agent.poll())["access"]
    site.agent.access_revision = mine["revision"]
    await _granted_and_revoked(site, other)
    assert (await site.agent.poll())["access"] is None
    whole = (await site.client.get("/ssh/krl")).content
    assert len(base64.b64decode(mine["krl"])) == len(whole) - 8  # one serial less


async def _granted_and_revoked(site: FleetSite, allocation_id: str) -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmtaG8VbnJRA2AQKCdmwG5Ilde0bYkSW9xdCChEXkrf"
    path = f"/allocations/{allocation_id}/access-grants"
    grant = await site.client.post(path, json={"public_key": key}, headers=site.operator)
    assert grant.status_code == 201, grant.text
    ended = f"/access-grants/{grant.json()['grant']['id']}/revoke"
    assert (await site.client.post(ended, json={}, headers=site.operator)).status_code == 200


async def test_a_machine_has_so_many_tasks_at_once(site: FleetSite) -> None:
    path = f"/allocations/{site.allocation_id}/tasks"
    asked = (
        site.client.post(path, json={"spec": SCRIPT}, headers=site.operator) for _ in range(67)
    )
    answers = await asyncio.gather(*asked)
    assert sum(answer.status_code == 201 for answer in answers) == 64
    refused = [answer.json()["code"] for answer in answers if answer.status_code != 201]
    assert refused == ["operation_in_progress"] * 3
