"""Cleaning between tenants: the old identity is refused, and a node is ready by evidence alone."""

import shlex
from collections.abc import AsyncIterator
from ipaddress import IPv4Network
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eventually import eventually
from fleet_fixtures import HOST_KEY, FleetSite, PaperAgent
from receiver_fixtures import Receiver, receiving

from gpuaas_platform.capacity.holdings import CLEANING_TOPIC
from gpuaas_platform.fleet.signatures import public_line
from gpuaas_platform.kernel.settings import Settings

PUBLIC = "https://platform.example"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    networks = (IPv4Network("127.0.0.0/8"),)
    return settings.model_copy(update={"webhook_allowed_networks": networks, "public_url": PUBLIC})


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


def fresh_key() -> str:
    """A host key that no machine has."""
    return public_line(Ed25519PrivateKey.generate())


async def cleaning_set(site: FleetSite, **body: Any) -> Any:
    answer = await site.client.put("/regions/north/cleaning", json=body, headers=site.root)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def release(site: FleetSite) -> None:
    path = f"/allocations/{site.allocation_id}/release"
    assert (await site.client.post(path, headers=site.admin)).json()["status"] == "released"


async def node(site: FleetSite) -> Any:
    return await site.get(f"/nodes/{site.agent.node_id}", site.root)


async def cleaning(site: FleetSite, *statuses: str, later: float = 0) -> Any:
    """The newest cleaning, once it is in one of these states; time passes where `later` is said."""
    found: list[Any] = []

    async def there() -> bool:
        page = await site.get("/cleanings", site.root, node_id=site.agent.node_id)
        found[:] = page["items"][:1]
        if found and found[0]["status"] in statuses:
            return True
        if later:
            site.clock.advance(seconds=later)
            site.platform.signals.send((CLEANING_TOPIC,))
        return False

    await eventually(there)
    return found[0]


async def act(site: FleetSite, one: Any, what: str, **body: Any) -> httpx2.Response:
    path = f"/cleanings/{one['id']}/{what}"
    return await site.client.post(path, json={"reason": "by test"} | body, headers=site.root)


async def wanted_by(site: FleetSite, who: dict[str, str]) -> httpx2.Response:
    """Ask for the machine as the project of these headers."""
    places = {id(site.admin): site.place.project_id, id(site.stranger): site.other.project_id}
    body = {"name": f"w{site.platform.clock.randomness(6).hex()}", "sku": "small"}
    path = f"/projects/{places[id(who)]}/allocations"
    return await site.client.post(path, json=body | {"region": "north"}, headers=who)


async def confirmed_closed(site: FleetSite, agent: PaperAgent) -> None:
    """The agent hears that nobody is to be let in, and says that this holds."""
    await agent.poll()
    await agent.poll()


async def every_route_refuses(site: FleetSite, agent: PaperAgent, task_id: str) -> None:
    bodies: dict[str, Any] = {
        "/poll": {"agent_version": "0.1.0"},
        "/facts": {"facts": {}},
        "/identities": PaperAgent(site.client).keys(),
        f"/tasks/{task_id}/start": None,
        f"/tasks/{task_id}/output": {"offset": 0, "data": ""},
        f"/tasks/{task_id}/secret": None,
        f"/tasks/{task_id}/artifact": None,
        f"/tasks/{task_id}/end": {"status": "succeeded", "code": "ok"},
        "/leaving": {"reason": "x"},
        "/left": {},
    }
    for path, body in bodies.items():
        answer = await agent.post(path, body)
        assert (answer.status_code, path) == (401, path)
    assert (await agent.sign_in()).status_code == 401


async def test_a_node_is_cleaned_by_hand_and_enrols_afresh(site: FleetSite) -> None:
    await cleaning_set(site, method="attested", keep_warm_seconds=0)
    task = await site.task({"kind": "run_script", "script": "true"})
    await site.agent.poll()
    spare = await site.enrolment_make()  # of another node: not concerned
    await release(site)
    assert (await node(site))["status"] == "cleaning"
    closing = await cleaning(site, "closing", "wiping")
    assert closing["org_id"] == site.place.org_id
    await confirmed_closed(site, site.agent)
    wiping = await cleaning(site, "wiping")
    steps = {one["name"]: one["state"] for one in wiping["steps"]}
    assert steps == {"sessions": "succeeded", "identity": "succeeded", "clean": "running"}
    assert wiping["next_actions"] == ["confirm", "retire"]
    await every_route_refuses(site, site.agent, task["id"])
    denied = await site.client.post(
        f"/cleanings/{wiping['id']}/confirm", json={"reason": "x"}, headers=site.admin
    )
    assert denied.status_code == 403
    for who in (site.admin, site.stranger):
        assert (await wanted_by(site, who)).json()["code"] == "no_capacity"
    said = (await act(site, wiping, "confirm")).json()
    assert said["confirmed_by"] is not None
    await cleaning(site, "enrolling")
    made = await site.enrolment_make(node=None, node_id=site.agent.node_id)
    new = PaperAgent(site.client)
    old_keys = await new.enrol(made["token"], [HOST_KEY])
    assert (old_keys.status_code, "not installed anew" in old_keys.json()["detail"]) == (409, True)
    assert (await new.enrol(made["token"], [fresh_key()])).status_code == 201
    await new.sign_in()
    await cleaning(site, "checking")
    assert (await node(site))["status"] == "cleaning"
    await confirmed_closed(site, new)
    done = await cleaning(site, "succeeded")
    assert {one["state"] for one in done["steps"]} == {"succeeded"}
    clean = await node(site)
    assert (clean["status"], clean["last_org_id"]) == ("ready", None)
    given = await wanted_by(site, site.stranger)
    assert given.status_code == 201, given.text
    await every_route_refuses(site, site.agent, task["id"])
    assert spare["enrolment"]["status"] == "pending"


async def test_an_enrolment_that_lay_on_the_machine_opens_nothing(site: FleetSite) -> None:
    """It was made for the node before it left its tenant, who could have read it."""
    await cleaning_set(site, method="attested", keep_warm_seconds=0)
    body = {"reason": "moved", "force": True}
    await site.client.post(f"/nodes/{site.agent.node_id}/unenrol", json=body, headers=site.root)
    left_behind = await site.enrolment_make(node=None, node_id=site.agent.node_id)
    await release(site)
    wiping = await cleaning(site, "wiping")
    refused = await PaperAgent(site.client).enrol(left_behind["token"], [fresh_key()])
    assert (refused.status_code, "earlier use" in refused.json()["detail"]) == (401, True)
    nothing = await act(site, wiping, "confirm")
    assert nothing.json()["errors"][0]["pointer"] == "/host_keys"
    key = fresh_key()
    await act(site, wiping, "confirm", host_keys=[key])
    await cleaning(site, "succeeded")
    ready = await node(site)
    assert (ready["status"], ready["host_keys"], ready["last_org_id"]) == ("cordoned", [key], None)


async def test_a_silent_agent_does_not_stop_the_cleaning(site: FleetSite) -> None:
    await cleaning_set(site, method="attested", keep_warm_seconds=0)
    await release(site)
    wiping = await cleaning(site, "wiping", later=21)
    steps = {one["name"]: one for one in wiping["steps"]}
    assert steps["sessions"]["state"] == "skipped"
    assert "did not confirm" in steps["sessions"]["message"]
    assert (await site.agent.sign_in()).status_code == 401


async def test_a_warm_machine_leaves_its_tenant_when_its_time_is_over(site: FleetSite) -> None:
    await cleaning_set(site, method="attested", keep_warm_seconds=600)
    await release(site)
    assert (await node(site))["status"] == "ready"
    assert (await wanted_by(site, site.stranger)).json()["code"] == "no_capacity"
    again = await wanted_by(site, site.admin)
    assert again.status_code == 201
    site.allocation_id = again.json()["id"]
    site.clock.advance(seconds=601)
    site.platform.signals.send((CLEANING_TOPIC,))
    await release(site)
    assert (await node(site))["status"] == "ready"
    await cleaning(site, "closing", "wiping", later=601)


async def test_a_hook_installs_the_machine_and_its_enrolment_is_the_answer(
    site: FleetSite, receiver: Receiver
) -> None:
    hook = {"url": receiver.url, "deadline_seconds": 600}
    saved = await cleaning_set(site, method="reimage", reimage=hook, keep_warm_seconds=0)
    receiver.answers = [503]
    await site.agent.poll()
    await release(site)
    await confirmed_closed(site, site.agent)
    enrolling = await cleaning(site, "enrolling", later=31)
    assert (enrolling["attempt"], len(receiver.received)) == (2, 2)
    first, second = receiver.received
    assert all(one.signed_by(saved["secret"]) for one in receiver.received)
    assert first.headers["webhook-id"] != second.headers["webhook-id"]
    assert second.event["node"]["name"] == "n1"
    tokens = [shlex.split(one.event["command"])[2] for one in receiver.received]
    assert PUBLIC in second.event["command"]
    late = await PaperAgent(site.client).enrol(tokens[0], [fresh_key()])
    assert late.status_code == 401
    new = PaperAgent(site.client)
    assert (await new.enrol(tokens[1], [fresh_key()])).status_code == 201
    await new.sign_in()
    await cleaning(site, "checking")
    await confirmed_closed(site, new)
    await cleaning(site, "succeeded")
    assert (await wanted_by(site, site.stranger)).status_code == 201
    assert (await site.agent.sign_in()).status_code == 401


async def test_a_machine_that_does_not_come_back_is_set_aside_with_ways_out(
    site: FleetSite, receiver: Receiver
) -> None:
    hook = {"url": receiver.url, "deadline_seconds": 600}
    await cleaning_set(site, method="reimage", reimage=hook, keep_warm_seconds=0)
    await release(site)
    aside = await cleaning(site, "set_aside", later=301)
    assert "did not enrol afresh" in aside["status_reason"]
    assert aside["next_actions"] == ["retry", "confirm", "retire"]
    shut = await node(site)
    assert (shut["status"], "did not enrol" in shut["status_reason"]) == ("set_aside", True)
    for who in (site.admin, site.stranger):
        assert (await wanted_by(site, who)).json()["code"] == "no_capacity"
    assert (await act(site, aside, "retry")).json()["status"] == "wiping"
    await cleaning(site, "enrolling")
    aside = await cleaning(site, "set_aside", later=301)
    key = fresh_key()
    assert (await act(site, aside, "confirm", host_keys=[key])).status_code == 200
    await cleaning(site, "succeeded")
    assert (await wanted_by(site, site.stranger)).status_code == 201
    too_late = await act(site, aside, "retry")
    assert (too_late.status_code, too_late.json()["code"]) == (409, "state_conflict")


async def test_a_hook_that_never_begins_is_given_up_and_the_node_can_be_retired(
    site: FleetSite, receiver: Receiver
) -> None:
    receiver.default = 500
    hook = {"url": receiver.url, "deadline_seconds": 600}
    await cleaning_set(site, method="reimage", reimage=hook, keep_warm_seconds=0)
    await release(site)
    aside = await cleaning(site, "set_aside", later=31)
    assert "did not begin after 5 requests" in aside["status_reason"]
    assert "it answered 500" in aside["status_reason"]
    assert (await act(site, aside, "retire")).json()["status"] == "retired"
    assert (await node(site))["status"] == "retired"
    change = {"status": "ready"}
    path = f"/nodes/{site.agent.node_id}"
    opened = await site.client.patch(path, json=change, headers=site.root)
    assert opened.status_code == 409
    for who in (site.admin, site.stranger):
        assert (await wanted_by(site, who)).json()["code"] == "no_capacity"


async def test_each_step_is_on_record(site: FleetSite) -> None:
    await cleaning_set(site, method="attested", keep_warm_seconds=0)
    await release(site)
    wiping = await cleaning(site, "wiping", later=21)
    await act(site, wiping, "confirm", host_keys=[fresh_key()])
    await cleaning(site, "succeeded")
    story = wiping["correlation_id"]
    wanted = {
        "capacity.node.cleaning",
        "fleet.cleaning.closing",
        "fleet.node.identity_revoked",
        "fleet.cleaning.wiping",
        "capacity.node.cleaned",
        "fleet.cleaning.succeeded",
    }

    async def told() -> bool:
        events = await site.get("/events", site.root, limit=200)
        return wanted <= {one["type"].removeprefix("gpuaas.") for one in events["items"]}

    await eventually(told)
    timeline = await site.get(f"/correlations/{story}", site.root)
    titles = " ".join(one["title"] for one in timeline["entries"])
    assert "fleet.cleaning" in titles
    audit = await site.get("/audit", site.root, limit=200)
    assert "fleet.cleaning.confirm" in {one["action"] for one in audit["items"]}


async def test_a_secret_of_an_ended_holding_is_refused(site: FleetSite) -> None:
    """The task was begun in a holding that ended; the same machine, held again, is another one."""
    made = await site.client.post(
        f"/projects/{site.place.project_id}/runtime-secrets",
        json={"name": "key", "value": "of the first holding"},
        headers=site.operator,
    )
    spec = {"kind": "deliver_secret", "secret_id": made.json()["id"], "path": "/etc/app/key"}
    task = await site.task(spec)
    await site.agent.post(f"/tasks/{task['id']}/start")
    sealed = await site.agent.post(f"/tasks/{task['id']}/secret")
    assert site.allocation_id in sealed.json()["sealed"]["info"]
    await release(site)
    again = await wanted_by(site, site.admin)
    assert again.status_code == 201
    refused = await site.agent.post(f"/tasks/{task['id']}/secret")
    assert (refused.status_code, "has ended" in refused.json()["detail"]) == (409, True)
