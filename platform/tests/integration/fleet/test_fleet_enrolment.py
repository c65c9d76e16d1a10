"""Enrolments and identities: one token, one host; a key signs, and the next takes over."""

import asyncio
import base64
import json
import shlex
import socket
from pathlib import Path
from typing import Any

import pytest
from canary_sinks import Canaries, database_dump
from eventually import eventually
from fleet_fixtures import HOST_KEY, FleetSite, PaperAgent

from gpuaas_contract.fleet_agent import DIRECTION_NAMESPACE, SignerKey
from gpuaas_platform.fleet.life import sweep_turn
from gpuaas_platform.fleet.signatures import signature_make
from gpuaas_platform.fleet.signing import signers_digest
from gpuaas_platform.kernel.keyring import keyring_path


async def test_a_host_becomes_a_node(bare: FleetSite) -> None:
    made = bare.enrolment
    assert made["enrolment"]["status"] == "pending"
    words = shlex.split(made["command"])
    assert words[:5] == ["printf", "%s", made["token"], "|", "python3"]
    assert words[-2:] == ["http://127.0.0.1:8470", made["agent_digest"]]
    answer = await bare.agent.enrol(made["token"])
    assert answer.status_code == 201, answer.text
    node = await bare.get(f"/nodes/{answer.json()['node_id']}", bare.root)
    assert (node["name"], node["address"], node["host_keys"]) == ("n1", "192.0.2.1", [HOST_KEY])
    assert node["agent_version"] == "0.1.0"
    assert node["conditions"] == []
    facts = await bare.get(f"/nodes/{node['id']}/facts", bare.root)
    assert facts["facts"]["cpu"] == {"threads": 2}
    used = await bare.get(f"/enrolments/{made['enrolment']['id']}", bare.root)
    assert (used["status"], used["node_id"]) == ("used", node["id"])


async def test_a_token_serves_once_but_its_agent_may_ask_again(bare: FleetSite) -> None:
    token = bare.enrolment["token"]
    first = await bare.agent.enrol(token)
    again = await bare.agent.enrol(token)
    assert (again.status_code, again.json()) == (201, first.json())
    other = await PaperAgent(bare.client).enrol(token)
    assert other.status_code == 401
    assert other.json()["detail"] == "This enrolment was used already; make another one."


async def test_a_token_expires_and_can_be_revoked(bare: FleetSite, clock: Any) -> None:
    clock.advance(seconds=3601)
    late = await bare.agent.enrol(bare.enrolment["token"])
    assert (late.status_code, "has expired" in late.json()["detail"]) == (401, True)
    await sweep_turn(bare.platform)
    told = await bare.get(f"/enrolments/{bare.enrolment['enrolment']['id']}", bare.root)
    assert told["status"] == "expired"
    second = await bare.enrolment_make()
    path = f"/enrolments/{second['enrolment']['id']}/revoke"
    answer = await bare.client.post(path, json={}, headers=bare.root)
    assert answer.json()["status"] == "revoked"
    refused = await bare.agent.enrol(second["token"])
    assert "was revoked" in refused.json()["detail"]
    unknown = await bare.agent.enrol("gpe_" + "x" * 43)
    assert unknown.json()["detail"] == "The enrolment token is not known."


async def test_the_token_is_in_no_row(bare: FleetSite, database_url: str, tmp_path: Path) -> None:
    canaries = Canaries()
    canaries.keep("token", bare.enrolment["token"])
    await bare.agent.enrol(bare.enrolment["token"])
    assert canaries.seen_in(database_dump(database_url, tmp_path)) == []


async def test_a_known_node_must_show_its_host_keys(site: FleetSite) -> None:
    node = {"name": "old", "region": "north", "sku": "small", "address": "192.0.2.9"}
    made = await site.client.post(
        "/nodes", json=node | {"host_keys": [HOST_KEY]}, headers=site.root
    )
    enrolment = await site.enrolment_make(node=None, node_id=made.json()["id"])
    other = HOST_KEY.replace("IJ", "Ix")
    impostor = await PaperAgent(site.client).enrol(enrolment["token"], [other])
    assert (impostor.status_code, "another machine" in impostor.json()["detail"]) == (409, True)
    true = await PaperAgent(site.client).enrol(enrolment["token"], [HOST_KEY, other])
    assert true.json()["node_id"] == made.json()["id"]
    keys = (await site.get(f"/nodes/{made.json()['id']}", site.root))["host_keys"]
    assert set(keys) == {HOST_KEY, other}
    with pytest.raises(AssertionError, match="has an agent"):
        await site.enrolment_make(node=None, node_id=made.json()["id"])


async def test_only_the_right_key_gets_a_token_and_a_challenge_serves_once(
    site: FleetSite, clock: Any
) -> None:
    thief = PaperAgent(site.client, node_id=site.agent.node_id)
    assert (await thief.sign_in()).status_code == 401
    challenge = (await site.client.post("/agent/challenges")).json()["challenge"]
    assert (await site.agent.sign_in_with(challenge)).status_code == 201
    replayed = await site.agent.sign_in_with(challenge)
    assert replayed.json()["detail"] == "This challenge was used before."
    stale = (await site.client.post("/agent/challenges")).json()["challenge"]
    clock.advance(seconds=61)
    assert "expired" in (await site.agent.sign_in_with(stale)).json()["detail"]
    made_up = "A" * 80
    assert (await site.agent.sign_in_with(made_up)).json()["detail"] == "The challenge is not ours."


async def test_a_token_ends(site: FleetSite, clock: Any) -> None:
    await site.agent.poll()
    clock.advance(seconds=601)
    answer = await site.agent.post("/poll", {"agent_version": "1"})
    assert (answer.status_code, answer.json()["code"]) == (401, "token_expired")


async def test_the_next_identity_takes_over_when_it_is_used(site: FleetSite) -> None:
    old = site.agent
    new = PaperAgent(site.client, node_id=old.node_id, signers=old.signers)
    assert (await old.post("/identities", new.keys())).status_code == 201
    assert (await old.post("/identities", new.keys())).status_code == 201  # said again
    assert (await old.sign_in()).status_code == 201  # the machine may die here
    assert (await new.sign_in()).status_code == 201
    assert (await old.sign_in()).status_code == 401
    assert (await old.post("/poll", {"agent_version": "1"})).status_code == 401
    await new.poll()
    agent = await site.get(f"/nodes/{new.node_id}/agent", site.root)
    assert len(agent["identities"]) == 1


async def test_an_identity_has_an_end(site: FleetSite, clock: Any) -> None:
    clock.advance(days=31)
    answer = await site.agent.sign_in()
    assert "enrol it again" in answer.json()["detail"]


async def test_a_direction_for_another_purpose_or_key_is_not_one(site: FleetSite) -> None:
    said = await site.client.post(
        "/agent/poll", json={"agent_version": "1"}, headers=site.agent.headers
    )
    signed = said.json()["signers"]
    site.agent.opened(signed)
    forged = dict(signed, payload=signed["payload"].replace("signers", "signerz"))
    with pytest.raises(ValueError, match="not of this text"):
        site.agent.opened(forged)
    mine = signature_make(site.agent.key, DIRECTION_NAMESPACE, signed["payload"].encode())
    with pytest.raises(ValueError, match="another key"):
        site.agent.opened(dict(signed, signature=mine))


async def test_silence_is_absence_and_nothing_more(site: FleetSite, clock: Any) -> None:
    node_id = site.agent.node_id
    await site.agent.poll()
    clock.advance(seconds=120)
    await sweep_turn(site.platform)
    node = await site.get(f"/nodes/{node_id}", site.root)
    assert [one["type"] for one in node["conditions"]] == ["agent_absent"]
    assert node["status"] == "ready"
    await site.agent.poll()
    await sweep_turn(site.platform)
    assert (await site.get(f"/nodes/{node_id}", site.root))["conditions"] == []

    async def numbered() -> bool:
        told = await site.get("/events", site.root)
        kinds = {one["type"].rpartition(".")[2] for one in told["items"]}
        return {"agent_absent", "agent_back", "enrolled"} <= kinds

    await eventually(numbered)


async def test_a_held_node_is_not_let_go(site: FleetSite) -> None:
    path = f"/nodes/{site.agent.node_id}/unenrol"
    held = await site.client.post(path, json={"reason": "moving"}, headers=site.root)
    assert (held.status_code, held.json()["code"]) == (409, "in_use")
    asked = await site.agent.post("/leaving", {"reason": "moving"})
    assert asked.status_code == 409
    await site.client.post(f"/allocations/{site.allocation_id}/release", headers=site.admin)
    going = await site.client.post(path, json={"reason": "moving"}, headers=site.root)
    assert going.json()["status"] == "leaving"
    assert (await site.agent.poll())["leave"]["reason"] == "moving"
    assert (await site.agent.post("/left", {})).json()["status"] == "left"
    assert (await site.agent.sign_in()).status_code == 401
    node = await site.get(f"/nodes/{site.agent.node_id}", site.root)
    assert (node["status"], node["agent_version"]) == ("cordoned", None)
    again = await site.enrolment_make(node=None, node_id=site.agent.node_id)
    fresh = PaperAgent(site.client)
    assert (await fresh.enrol(again["token"])).status_code == 201
    assert (await site.get(f"/nodes/{fresh.node_id}", site.root))["status"] == "ready"


async def test_what_a_host_could_not_clean_is_told_of_its_node(site: FleetSite) -> None:
    path = f"/nodes/{site.agent.node_id}"
    await site.client.post(f"/allocations/{site.allocation_id}/release", headers=site.admin)
    going = {"reason": "m" * 2000}
    assert (await site.client.post(f"{path}/unenrol", json=going, headers=site.root)).is_success
    assert (await site.get(path, site.root))["status_reason"].startswith("Un-enrolling: mmm")
    left = {"residue": ["/var/lib/gpuaas-agent: read-only file system"]}
    assert (await site.agent.post("/left", left)).json()["status"] == "left"
    told = (await site.get(path, site.root))["status_reason"]
    assert told == "Un-enrolled. /var/lib/gpuaas-agent: read-only file system"


async def test_force_ends_an_identity_at_once(site: FleetSite) -> None:
    task = await site.task({"kind": "run_script", "script": "true"})
    path = f"/nodes/{site.agent.node_id}/unenrol"
    gone = await site.client.post(
        path, json={"reason": "burnt down", "force": True}, headers=site.root
    )
    assert gone.json()["status"] == "left"
    assert (await site.agent.post("/poll", {"agent_version": "1"})).status_code == 401
    ended = await site.get(f"/node-tasks/{task['id']}")
    assert (ended["status"], ended["result"]["code"]) == ("failed", "agent_gone")


async def test_a_new_key_of_the_platform_is_told_by_one_the_agent_knows(site: FleetSite) -> None:
    agent = site.agent
    await agent.poll()
    before = agent.signers
    path = keyring_path(site.platform.settings)
    kept = json.loads(path.read_text())
    added = base64.b64encode(b"k" * 32).decode()
    path.write_text(json.dumps({**kept, "keys": [*kept["keys"], added]}))
    task = await site.task({"kind": "run_script", "script": "true"})
    said = await agent.poll()  # `opened` takes only what a known key signed
    assert [one["task_id"] for one in said["tasks"]] == [task["id"]]
    assert len(agent.signers) == len(before) + 1
    late = PaperAgent(site.client, agent.key, node_id=agent.node_id, signers=before)
    late.headers, late.signers_revision = agent.headers, _revision(before)
    assert [one["task_id"] for one in (await late.poll())["tasks"]] == [task["id"]]


async def test_facts_are_bounded_before_they_are_kept(bare: FleetSite) -> None:
    deep: Any = []
    for _ in range(40):
        deep = [deep]
    token = bare.enrolment["token"]
    refused = await bare.agent.enrol(token, facts={"deep": deep})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "nested more than 16 levels deep" in refused.json()["detail"]
    assert (await bare.agent.enrol(token)).status_code == 201
    await bare.agent.sign_in()
    for facts, why in (
        ({"deep": deep}, "nested more than 16 levels deep"),
        ({"large": "x" * 300_000}, "more than 262144 bytes of JSON"),
    ):
        answer = await bare.agent.post("/facts", {"facts": facts})
        assert (answer.status_code, why in answer.json()["detail"]) == (422, True)
    deepest: Any = 1
    for _ in range(15):
        deepest = [deepest]
    assert (await bare.agent.post("/facts", {"facts": {"deep": deepest}})).status_code == 200
    kept = await bare.get(f"/nodes/{bare.agent.node_id}/facts", bare.root)
    assert kept["facts"] == {"deep": deepest}


@pytest.mark.parametrize("who", ["root", "operator"])
async def test_an_agent_taken_away_from_a_held_machine_is_said(site: FleetSite, who: str) -> None:
    """Neither the holder nor the operator is left with a machine that only looks managed."""
    node_id, allocation_id = site.agent.node_id, site.allocation_id
    if who == "root":
        asked = await site.agent.post("/leaving", {"reason": "mine", "force": True})
        assert asked.status_code == 200, asked.text
    else:
        body = {"reason": "broken", "force": True}
        asked = await site.client.post(f"/nodes/{node_id}/unenrol", json=body, headers=site.root)
        assert asked.status_code == 200, asked.text
    for reader, path in (
        (site.viewer, f"/allocations/{allocation_id}"),
        (site.root, f"/nodes/{node_id}"),
    ):
        (condition,) = (await site.get(path, reader))["conditions"]
        assert condition["type"] == "agent_left"
        assert "no access, revocation or task reaches the machine any more" in condition["message"]
        assert f"while the allocation {allocation_id} holds it" in condition["message"]
        assert condition["next_action"] == "Enrol the machine again, or release the allocation."
    listed = await site.get("/allocations", site.viewer)
    assert listed["items"][0]["conditions"][0]["type"] == "agent_left"
    if who == "root":
        assert (await site.agent.post("/left", {"residue": []})).is_success

    told = await site.platform.db.fetch(
        "SELECT type, project_id, data FROM outbox UNION ALL SELECT type, project_id, data"
        " FROM events"
    )
    seen = {row["type"]: row for row in told}
    assert seen["fleet.allocation.agent_left"]["project_id"] == site.place.project_id
    assert seen["fleet.node.left"]["data"]["allocation_id"] == allocation_id
    audit = await site.platform.db.fetchval(
        "SELECT project_id FROM audit_entries WHERE action = 'fleet.allocation.agent_left'"
    )
    assert audit == site.place.project_id


async def test_the_condition_ends_with_a_new_agent_or_the_release(site: FleetSite) -> None:
    node_id, path = site.agent.node_id, f"/allocations/{site.allocation_id}"
    await site.agent.post("/leaving", {"reason": "mine", "force": True})
    await site.agent.post("/left", {"residue": []})
    enrolment = await site.enrolment_make(node=None, node_id=node_id)
    back = PaperAgent(site.client)
    assert (await back.enrol(enrolment["token"])).status_code == 201
    assert (await site.get(path, site.viewer))["conditions"] == []
    assert (await site.get(f"/nodes/{node_id}", site.root))["conditions"] == []

    await back.sign_in()
    await back.post("/leaving", {"reason": "again", "force": True})
    assert (await site.get(path, site.viewer))["conditions"] != []
    released = await site.client.post(f"{path}/release", json={}, headers=site.admin)
    assert (released.status_code, released.json()["conditions"]) == (200, [])
    assert (await site.get(f"/nodes/{node_id}", site.root))["conditions"] == []


async def test_the_command_says_in_one_line_that_there_is_no_way(site: FleetSite) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        node = {"name": "n2", "region": "north", "sku": "small"}
        made = await site.enrolment_make(node=node, platform_url=url)
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", made["command"], stderr=asyncio.subprocess.PIPE
        )
        _, said = await process.communicate()
    assert process.returncode == 1
    assert said.decode() == (
        f"gpuaas-agent: the agent cannot be fetched from {url}: [Errno 111] Connection refused\n"
    )


def _revision(signers: list[dict[str, str]]) -> str:
    return signers_digest([SignerKey(**one) for one in signers])
