"""Two tenants that know nothing of each other, made through the public API alone.

Tests over every route use it: each path parameter has an existing thing of the tenant `zebra`, and
there are people who may use it, people who may not, and credentials that have ended. Names in
`zebra`'s project `quagga` hold that word, so that a leak of a name is seen as well as one of an id.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from apps_fake_controller import FakeController
from apps_fixtures import Site, echo_manifest
from artifacts_fixtures import SigningKey, content_digest, intent
from custody_fixtures import USER_KEY, private_key_make
from eventually import eventually
from fleet_fixtures import PaperAgent
from identity_fixtures import PASSWORD, Browser, key_exchanged, project_scope, tenant_scope
from platform_calls import bearer

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.clock import Clock

TENANT_WORD = "zebra"
PROJECT_WORD = "quagga"
CLOSED_PORT = "http://127.0.0.1:9/"  # discard: nothing listens, so deliveries die at once
ARTIFACT = b"#!/bin/sh\necho runtime\n"
_PUBLIC_KEY = "q" * 42 + "A="
_HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"


class StillClock(Clock):
    """Time that passes only when told to, so that nothing falls due while a test asks."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1)  # ids stay in the order of their making
        return self._now

    def advance(self, **how_long: float) -> None:
        self._now += timedelta(**how_long)


@dataclass
class Scenario:
    """What there is, by the name of the path parameter that means it, and who can be asked as."""

    browser: Callable[[], Browser]
    root: Browser
    params: dict[str, str] = field(default_factory=dict)
    strangers: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    people: dict[str, Browser] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    ended_keys: dict[str, str] = field(default_factory=dict)

    def headers(self, who: str) -> dict[str, str]:
        """The header that makes a request this person's."""
        return bearer(self.tokens[who])


async def scenario_build(
    browser: Callable[[], Browser], root: Browser, advance: Callable[..., None] | None = None
) -> Scenario:
    """Everything, through the API, by people who may; given a clock, with ended credentials."""
    scenario = Scenario(browser, root)
    await _catalog(scenario)
    await _tenancy(scenario)
    await _machines(scenario)
    await _account(scenario)
    await _custody(scenario)
    await _fleet(scenario)
    await _cleaning(scenario)
    await _artifacts(scenario)
    if advance is not None:
        await _credentials_end(scenario, advance)
    await _instance(scenario)
    await _next_door(scenario)
    await _papers(scenario)
    await _webhooks(scenario)
    scenario.params["correlation_id"] = "quagga-deploys"
    return scenario


async def _catalog(scenario: Scenario) -> None:
    root = scenario.root
    await root.made("/regions", {"name": "north", "display_name": "North"})
    await root.put("/regions/north/cleaning", {"method": "attested"})
    sku = {"name": "small", "display_name": "Small", "cpus": 2, "memory_mib": 4096}
    await root.made("/skus", {**sku, "price_per_hour": "0.5"})
    await root.made("/apps", {"slug": "echo", "display_name": "Echo", "publisher": "Tests"})
    for version in ("1.0.0", "1.1.0"):
        body = {"version": version, "manifest": echo_manifest(), "publish": True}
        await root.made("/apps/echo/versions", body)
    draft = {"version": "2.0.0", "manifest": echo_manifest()}
    await root.made("/apps/echo/versions", draft)
    scenario.params |= {"name": "small", "slug": "echo", "version": "1.0.0", "draft": "2.0.0"}
    scenario.params["region_name"] = "north"


async def _tenancy(scenario: Scenario) -> None:
    root, params = scenario.root, scenario.params
    tenants = {
        name: (await root.made("/tenants", {"name": name}))["id"] for name in ("zebra", "yak")
    }
    places = {}
    for tenant, project in (("zebra", "quagga"), ("zebra", "next-door"), ("yak", "herd")):
        made = await root.made(f"/tenants/{tenants[tenant]}/projects", {"name": project})
        places[project] = made["id"]
    zebra, yak = tenants["zebra"], tenants["yak"]
    params |= {"org_id": zebra, "project_id": places["quagga"]}
    params["next_door_id"] = places["next-door"]
    scenario.strangers |= {"org_id": yak, "project_id": places["herd"]}
    await _person(scenario, "root", root)
    here, there = project_scope(zebra, places["quagga"]), project_scope(zebra, places["next-door"])
    boss = await _join(scenario, root, "boss", "tenant_admin", tenant_scope(zebra))
    await _join(scenario, root, "stranger", "tenant_admin", tenant_scope(yak))
    await _join(scenario, boss, "lead", "project_admin", here)
    await _join(scenario, boss, "neighbour", "project_admin", there)
    await _join(scenario, boss, "viewer", "project_viewer", here)
    role = await boss.made(
        f"/tenants/{zebra}/roles", {"name": "zebra-notes", "permissions": ["operate.gap.write"]}
    )
    await _join(scenario, boss, "bystander", role["id"], here)
    member = (await _join(scenario, boss, "member", "project_member", here)).user_id
    bindings = await boss.seen("/role-bindings", principal_id=member)
    mapping = {"group": "quagga-people", "role": "project_viewer", "scope": here}
    provider = {"name": "zebra-sso", "issuer": "https://localhost:9", "client_id": "zebra"}
    provider = await boss.made(f"/tenants/{zebra}/identity-providers", provider)
    domain = await boss.made(f"/tenants/{zebra}/domains", {"domain": "zebra.example"})
    params |= {"provider_id": provider["id"], "domain_id": domain["id"]}
    glass = {"org_id": zebra, "reason": "The tenant asked us to look at it."}
    params |= {
        "role_id": role["id"],
        "user_id": member,
        "binding_id": bindings["items"][0]["id"],
        "mapping_id": (await boss.made("/group-mappings", mapping))["id"],
        "glass_id": (await root.made("/admin/break-glass", glass))["id"],
    }


async def _join(
    scenario: Scenario, by: Browser, who: str, role: str, scope: dict[str, Any]
) -> Browser:
    """A new person with a role, signed in, with a token."""
    email = f"{who}@{scope['org_id'].replace('_', '-')}.example"
    made = await by.made(
        f"/tenants/{scope['org_id']}/users", {"email": email, "password": PASSWORD}
    )
    binding = {"principal_id": made["id"], "role": role, "scope": scope}
    await by.made("/role-bindings", binding)
    person = scenario.browser()
    person.user_id = made["id"]
    answer = await person.post("/sessions", {"email": email, "password": PASSWORD})
    assert answer.status_code == 201, answer.text
    await _person(scenario, who, person)
    return person


async def _person(scenario: Scenario, who: str, person: Browser) -> None:
    scenario.people[who] = person
    token = await person.made("/personal-tokens", {"name": f"of {who}"})
    scenario.tokens[who] = token["secret"]
    if who == "member":
        sessions = await person.seen("/sessions")
        scenario.params |= {
            "member_token_id": (await person.made("/personal-tokens", {"name": "quagga"}))["id"],
            "member_session_id": sessions["items"][0]["id"],
        }
    if who == "boss":
        factor = await person.made("/second-factors", {"current_password": PASSWORD})
        scenario.params["factor_id"] = factor["id"]
        sessions = await person.seen("/sessions")
        spare = await person.made("/personal-tokens", {"name": "zebra-spare"})
        scenario.params |= {"token_id": spare["id"], "session_id": sessions["items"][0]["id"]}
        begun = await scenario.browser().made("/device-sign-ins", {"name": "zebra-terminal"})
        scenario.params |= {"user_code": begun["user_code"], "device_secret": begun["secret"]}


async def _machines(scenario: Scenario) -> None:
    root, boss, params = scenario.root, scenario.people["boss"], scenario.params
    for number in range(8):
        node = {
            "name": f"n{number}",
            "region": "north",
            "sku": "small",
            "address": f"n{number}.lab",
        }
        made = await root.made("/nodes", {**node, "host_keys": [_HOST_KEY]})
        params["node_id"] = made["id"]
        params.setdefault("agent_node_id", made["id"])
    for number in range(6):
        wanted = {"name": f"quagga-{number}", "sku": "small", "region": "north"}
        made = await boss.made(f"/projects/{params['project_id']}/allocations", wanted)
        params[f"allocation_{number}"] = made["id"]
    params["allocation_id"] = params["allocation_5"]


async def _account(scenario: Scenario) -> None:
    boss, params = scenario.people["boss"], scenario.params
    wish = {"name": "quagga-robot", "roles": ["app_operator"], "public_key": _PUBLIC_KEY}
    account = await boss.made(f"/projects/{params['project_id']}/service-accounts", wish)
    key = await boss.made(f"/service-accounts/{account['id']}/keys", {"name": "quagga-key"})
    params |= {"account_id": account["id"], "key_id": key["id"], "key_secret": key["secret"]}
    robot = await key_exchanged(boss, key["secret"])
    scenario.tokens["robot"] = robot.json()["access_token"]


async def _custody(scenario: Scenario) -> None:
    """A way into a machine, and two secrets."""
    boss, params = scenario.people["boss"], scenario.params
    wish: dict[str, Any] = {"public_key": USER_KEY, "ttl_seconds": 900}
    grant = await boss.made(f"/allocations/{params['allocation_0']}/access-grants", wish)
    project = f"/projects/{params['project_id']}"
    wish = {"name": "quagga-host", "username": "root", "private_key": private_key_make()}
    credential = await boss.made(f"{project}/access-credentials", wish)
    wish = {"name": "quagga-secret", "random": {}}
    secret = await boss.made(f"{project}/runtime-secrets", wish)
    params |= {
        "grant_id": grant["grant"]["id"],
        "credential_id": credential["id"],
        "secret_id": secret["id"],
    }


async def _fleet(scenario: Scenario) -> None:
    """An agent on the first machine, which the first allocation holds, and a task for it."""
    params = scenario.params
    made = await scenario.root.made("/enrolments", {"node_id": params["agent_node_id"]})
    agent = PaperAgent(scenario.root.with_token("").client)
    assert (await agent.enrol(made["token"], [_HOST_KEY])).status_code == 201
    answer = await agent.sign_in()
    scenario.tokens["node"] = answer.json()["access_token"]
    node = {"name": "later", "region": "north", "sku": "small", "address": "later.lab"}
    unused = await scenario.root.made("/enrolments", {"node": node})
    params["enrolment_id"] = unused["enrolment"]["id"]
    spec = {"kind": "run_script", "script": "echo quagga"}
    path = f"/allocations/{params['allocation_0']}/tasks"
    task = await scenario.people["boss"].made(path, {"spec": spec, "label": "quagga-task"})
    params["task_id"] = task["id"]


async def _cleaning(scenario: Scenario) -> None:
    """A node whose cleaning waits for an operator."""
    root, params = scenario.root, scenario.params
    node = {"name": "cleaned", "region": "north", "sku": "small", "address": "cleaned.lab"}
    made = await root.made("/nodes", {**node, "host_keys": [_HOST_KEY]})
    assert (await root.post(f"/nodes/{made['id']}/clean", {})).status_code == 202

    async def waits() -> str | None:
        page = (await root.get("/cleanings", node_id=made["id"], status="wiping")).json()
        return page["items"][0]["id"] if page["items"] else None

    params["cleaning_id"] = await eventually(waits)


async def _artifacts(scenario: Scenario) -> None:
    """A source of each tenant's with something published, one more to come, one delivered."""
    params, boss = scenario.params, scenario.people["boss"]
    stranger = scenario.people["stranger"]
    yak = await _source(stranger, scenario.strangers["org_id"], "yak-tools")
    params["yak_artifact_id"] = await _published(scenario, "stranger", yak)
    params["source_id"] = source = await _source(boss, params["org_id"], "zebra-tools")
    key = {"name": "zebra-key", "public_key": SigningKey().pem}
    made = await boss.made(f"/artifact-sources/{source}/keys", key)
    params["artifact_key_id"] = made["id"]
    params["artifact_id"] = await _published(scenario, "boss", source)
    later = intent(ARTIFACT) | {"name": "later"}
    intended = await boss.made(f"/artifact-sources/{source}/artifacts", later)
    params |= {"intended_id": intended["id"], "number": "1"}
    path = f"/allocations/{params['allocation_0']}/artifact-deliveries"
    issued = await boss.made(path, {"artifact_id": params["artifact_id"], "purpose": "quagga"})
    params["artifact_delivery_id"] = issued["delivery"]["id"]


async def _source(boss: Browser, org_id: str, name: str) -> str:
    rules = {"artifact_sources": {"allow": ["blob://*"]}}
    await boss.made(f"/tenants/{org_id}/policy-overlays", {"name": "sources", "rules": rules})
    made = await boss.made(f"/tenants/{org_id}/artifact-sources", {"name": name})
    return str(made["id"])


async def _published(scenario: Scenario, who: str, source_id: str) -> str:
    person = scenario.people[who]
    path = f"/artifact-sources/{source_id}/artifacts"
    artifact_id = str((await person.made(path, intent(ARTIFACT)))["id"])
    part = await person.with_token("").client.put(
        f"/artifacts/{artifact_id}/parts/1",
        content=ARTIFACT,
        headers=scenario.headers(who) | {"Content-Digest": content_digest(ARTIFACT)},
    )
    assert part.status_code == 200, part.text
    await person.post(f"/artifacts/{artifact_id}/complete", {})
    done = await person.seen(f"/artifacts/{artifact_id}", wait="20s")
    assert done["status"] == "published", done
    return artifact_id


async def _credentials_end(scenario: Scenario, advance: Callable[..., None]) -> None:
    """Credentials of those who may do everything in `zebra`, expired by the clock and revoked."""
    boss, account = scenario.people["boss"], scenario.params["account_id"]
    short = {"name": "short", "expires_in_seconds": 60}
    expired = await boss.made("/personal-tokens", short)
    revoked = await boss.made("/personal-tokens", {"name": "revoked"})
    brief_key = await boss.made(
        f"/service-accounts/{account}/keys", {"name": "brief", "expires_in_seconds": 60}
    )
    lost_key = await boss.made(f"/service-accounts/{account}/keys", {"name": "lost"})
    brief_token = (await key_exchanged(boss, brief_key["secret"])).json()["access_token"]
    lost_token = (await key_exchanged(boss, lost_key["secret"])).json()["access_token"]
    assert (await boss.delete(f"/personal-tokens/{revoked['id']}")).status_code == 204
    assert (await boss.delete(f"/service-account-keys/{lost_key['id']}")).status_code == 200
    advance(seconds=90)
    scenario.ended = {
        "expired personal token": expired["secret"],
        "expired service account token": brief_token,
        "revoked personal token": revoked["secret"],
        "revoked service account token": lost_token,
    }
    scenario.ended_keys = {"expired": brief_key["secret"], "revoked": lost_key["secret"]}


async def _instance(scenario: Scenario) -> None:
    """Echo, deployed with a voice; two more voices in a group; one operation held, one failed."""
    params, boss = scenario.params, scenario.people["boss"]
    org_id, project_id = params["org_id"], params["project_id"]
    tenant = await scenario.root.made(f"/tenants/{org_id}/entitlements", {"app_slug": "echo"})
    project = await boss.made(f"/projects/{project_id}/entitlements", {"app_slug": "echo"})
    params |= {"tenant_entitlement_id": tenant["id"], "entitlement_id": project["id"]}
    site = site_of(scenario)
    settings = {"hub": params["allocation_0"], "voices": [params["allocation_1"]]}
    body = {"app_slug": "echo", "version": "1.0.0", "name": "quagga-echo", "settings": settings}
    answer = await site.ask(
        "POST", f"/projects/{project_id}/app-instances", body, X_Correlation_ID="quagga-deploys"
    )
    assert answer.status_code == 202, answer.text
    instance_id = answer.json()["instance"]["id"]
    controller = FakeController(site, lease_seconds=600)
    await controller.drain_queue()
    more = {"allocations": [params["allocation_2"], params["allocation_3"]]}
    group = await site.asked(instance_id, "add_voice", input=more)
    await controller.drain_queue()
    lease = await site.client.post(
        f"/app-instances/{instance_id}/observer",
        json={"controller": {"replica": "echo-0", "version": "0.9.1"}},
        headers=site.robot,
    )
    assert lease.status_code == 200, lease.text
    await site.asked(instance_id, "say")
    held = (await controller.claim())[0]
    members = await site.members(instance_id)
    params |= {
        "instance_id": instance_id,
        "member_id": members[-1]["id"],
        "group_id": group["group_id"],
        "operation_id": held["operation"]["id"],
        "lease_token": held["lease"]["token"],
        "observer_token": lease.json()["token"],
    }


async def _next_door(scenario: Scenario) -> None:
    """Things of other projects that somebody in `quagga` or `yak` could try to refer to."""
    params, boss = scenario.params, scenario.people["boss"]
    project = f"/projects/{params['next_door_id']}"
    await boss.made(f"{project}/entitlements", {"app_slug": "echo"})
    wanted = {"name": "door", "sku": "small", "region": "north"}
    allocation = await boss.made(f"{project}/allocations", wanted)
    body = {"app_slug": "echo", "name": "door", "settings": {"hub": allocation["id"]}}
    answer = await boss.post(f"{project}/app-instances", body)
    assert answer.status_code == 202, answer.text
    instance_id = answer.json()["instance"]["id"]
    members = await boss.seen(f"/app-instances/{instance_id}/members")
    params |= {
        "next_door_allocation_id": allocation["id"],
        "next_door_member_id": members["items"][0]["id"],
    }
    account = await scenario.people["stranger"].made(
        f"/projects/{scenario.strangers['project_id']}/service-accounts", {"name": "yak-robot"}
    )
    scenario.strangers["account_id"] = account["id"]


def site_of(scenario: Scenario) -> Site:
    """The project as the apps room's helpers know it; they need no platform in this process."""
    boss, params = scenario.people["boss"], scenario.params
    place = Place(params["org_id"], params["project_id"])
    client = boss.with_token("").client
    admin, viewer = scenario.headers("boss"), scenario.headers("viewer")
    nobody = cast(Platform, None)
    robot = scenario.headers("robot")
    return Site(client, nobody, place, scenario.headers("root"), admin, viewer, robot)


async def _papers(scenario: Scenario) -> None:
    """Policy, quotas and the gap log, at every level."""
    params, boss, root = scenario.params, scenario.people["boss"], scenario.root
    tenant, project = f"/tenants/{params['org_id']}", f"/projects/{params['project_id']}"
    rules = {"regions": {"deny": ["moon"]}}
    await root.made("/policy-overlays", {"name": "everywhere", "rules": rules})
    await boss.made(f"{tenant}/policy-overlays", {"name": "zebra-rules", "rules": rules})
    wish = {"name": "quagga-rules", "rules": rules}
    overlay = await boss.made(f"{project}/policy-overlays", wish)
    gap = {"category": "app_problem", "title": "quagga-gap", "project_id": params["project_id"]}
    params |= {"overlay_id": overlay["id"], "gap_id": (await boss.made("/gaps", gap))["id"]}
    answer = await root.put(f"{tenant}/quotas", {"limit": 100})
    assert answer.status_code == 200, answer.text
    quota = f"{tenant}{project}/quotas"
    assert (await boss.put(quota, {"limit": 50})).status_code == 200


async def _webhooks(scenario: Scenario) -> None:
    """A webhook nobody answers, and its first dead delivery."""
    params, boss = scenario.params, scenario.people["boss"]
    body = {"url": CLOSED_PORT, "description": f"quagga {secrets.token_hex(4)}"}
    made = await boss.made(f"/projects/{params['project_id']}/webhooks", body)
    params["webhook_id"] = made["webhook"]["id"]
    gap = {"category": "app_problem", "title": "quagga-two", "project_id": params["project_id"]}
    await boss.made("/gaps", gap)

    async def dead() -> Any:
        page = await boss.seen(f"/webhooks/{params['webhook_id']}/deliveries", status="dead")
        return page["items"]

    params["delivery_id"] = (await eventually(dead, what="a dead delivery"))[0]["id"]
