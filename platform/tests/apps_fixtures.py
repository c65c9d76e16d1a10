"""A site for tests of the apps room: machines, a project, and the app `echo` in the catalog.

`echo` is no scheduler: a hub repeats what is said to it and its voices repeat it too. It has every
purpose an operation can have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import CallerKind, Place

_ALLOCATION = {"type": "string", "x-widget": "allocation_picker"}
_ALLOCATIONS = {"type": "array", "items": _ALLOCATION, "default": []}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required or [],
    }


def _operation(kind: str, purpose: str, target: str = "instance", **more: Any) -> dict[str, Any]:
    title = kind.replace("_", " ").capitalize()
    return {"kind": kind, "title": title, "purpose": purpose, "target": target} | more


_GROUP = {"group": {"max_members": 50, "max_parallel": 2}}
_ON_VOICES = {"valid_in": {"components": ["voice"]}}


def echo_manifest() -> dict[str, Any]:
    """The manifest of echo."""
    return {
        "manifest_version": 1,
        "summary": "Repeats what is said to it",
        "runtime_backend": "process",
        "operating_modes": ["tenant_dedicated"],
        "control_plane_scopes": ["project"],
        "machine_access": ["certificate"],
        "components": [
            {"key": "hub", "title": "Hub", "min_members": 1, "max_members": 1},
            {"key": "voice", "title": "Voice", "max_members": 40, "may_share_with": ["hub"]},
        ],
        "topologies": [
            {"key": "single_node", "title": "One machine", "max_allocations": 1},
            {
                "key": "multi_node",
                "title": "Many machines",
                "description": "Hub and voices on machines of their own.",
                "min_allocations": 2,
            },
        ],
        "operations": [
            _operation(
                "deploy",
                "deploy",
                input=_object(
                    {
                        "hub": _ALLOCATION,
                        "voice_on_hub": {"type": "boolean", "default": False},
                        "voices": _ALLOCATIONS,
                        "greeting": {"type": "string", "maxLength": 40, "default": "hello"},
                    },
                    ["hub"],
                ),
                placement=[
                    {"pointer": "/hub", "component": "hub"},
                    {
                        "pointer": "/hub",
                        "component": "voice",
                        "when": [{"pointer": "/voice_on_hub", "equals": True}],
                    },
                    {"pointer": "/voices", "component": "voice"},
                ],
                valid_in={"components": ["hub"]},
                steps=[
                    {"name": "prepare", "title": "Prepare", "deadline_seconds": 30},
                    {"name": "start", "title": "Start"},
                ],
                retry_after_seconds=10,
                deadline_seconds=900,
            ),
            _operation(
                "add_voice",
                "member_add",
                "group",
                input=_object({"allocations": _ALLOCATIONS}),
                placement=[{"pointer": "/allocations", "component": "voice"}],
                **_GROUP,
                **_ON_VOICES,
            ),
            _operation("hush", "member_drain", "group", **_GROUP, **_ON_VOICES),
            _operation("speak_again", "member_resume", "group", **_GROUP, **_ON_VOICES),
            _operation("remove_voice", "member_remove", "group", **_GROUP, **_ON_VOICES),
            _operation(
                "replace_voice",
                "member_replace",
                "member",
                input=_object({"allocation": _ALLOCATION}, ["allocation"]),
                placement=[{"pointer": "/allocation", "component": "voice"}],
                **_ON_VOICES,
            ),
            _operation("stop", "stop"),
            _operation("start", "start"),
            _operation("restart", "restart"),
            _operation("upgrade", "upgrade"),
            _operation("roll_back", "rollback"),
            _operation("look", "reconcile"),
            _operation("say", "custom", valid_in={"instance_states": ["running"]}),
            _operation(
                "decommission",
                "delete",
                destructive=True,
                confirmation={"title": "Take echo down?", "text": "What was said is lost."},
            ),
        ],
        "permissions": {
            "read": ["capacity.allocation.read"],
            "operator": ["custody.grant.create"],
        },
        "health": [
            {"word": "loud", "health": "healthy"},
            {"word": "hoarse", "health": "degraded"},
        ],
        "lifecycle": {
            "upgrade": {"from_versions": ["1.*"], "strategy": "restart"},
            "rollback": {"loses": "What was said since the upgrade."},
            "delete": {"destroys": "Everything said.", "verifies_absence": True},
        },
        "runbook_url": "https://example.test/echo",
    }


@dataclass
class Site:
    """Machines, a project that holds them, an entitled app, and people with tokens."""

    client: httpx2.AsyncClient
    platform: Platform
    place: Place
    operator: dict[str, str]
    admin: dict[str, str]
    viewer: dict[str, str]
    robot: dict[str, str]
    machines: list[str] = field(default_factory=list)

    async def ask(
        self,
        method: str,
        path: str,
        json: Mapping[str, Any] | None = None,
        *,
        who: dict[str, str] | None = None,
        **headers: str,
    ) -> httpx2.Response:
        """One request, as the project's administrator unless said otherwise."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(
            method, path, json=json, headers={**(who or self.admin), **named}
        )

    async def got(self, path: str, **query: str | Sequence[str]) -> Any:
        """What a read answers."""
        answer = await self.client.get(path, params=query, headers=self.admin)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def deploy(self, name: str = "first", **settings: Any) -> dict[str, Any]:
        """Deploy echo; the answer of the request."""
        given = {"hub": self.machines[0]} | settings
        answer = await self.create(name, given, version="1.0.0")
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    async def create(self, name: str, settings: dict[str, Any], **more: Any) -> httpx2.Response:
        """Try to deploy echo."""
        body = {"app_slug": "echo", "name": name, "settings": settings} | more
        return await self.ask("POST", f"/projects/{self.place.project_id}/app-instances", body)

    async def request(
        self, instance_id: str, kind: str, *members: str, **body: Any
    ) -> httpx2.Response:
        """Try to ask for an operation."""
        path = f"/app-instances/{instance_id}/operations"
        return await self.ask("POST", path, {"kind": kind, "member_ids": list(members)} | body)

    async def asked(
        self, instance_id: str, kind: str, *members: str, **body: Any
    ) -> dict[str, Any]:
        """Ask for an operation; the first one it became."""
        answer = await self.request(instance_id, kind, *members, **body)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    async def instance(self, instance_id: str) -> dict[str, Any]:
        """An instance as it is now."""
        return dict(await self.got(f"/app-instances/{instance_id}"))

    async def operation(self, operation_id: str) -> dict[str, Any]:
        """An operation as it is now."""
        return dict(await self.got(f"/operations/{operation_id}"))

    async def members(self, instance_id: str, **query: str) -> list[dict[str, Any]]:
        """Members, oldest first."""
        page = await self.got(f"/app-instances/{instance_id}/members", **query)
        return list(reversed(page["items"]))

    async def events(self, instance_id: str) -> list[dict[str, Any]]:
        """Everything told of an instance so far, in order, numbered or not yet."""
        sql = (
            "SELECT type, subject, correlation_id, data FROM ("
            " SELECT 0 AS late, seq AS n, type, subject, correlation_id, data, app_instance_id"
            " FROM events UNION ALL"
            " SELECT 1, position, type, subject, correlation_id, data, app_instance_id FROM outbox"
            ") e WHERE app_instance_id = $1 ORDER BY late, n"
        )
        return [dict(row) for row in await self.platform.db.fetch(sql, instance_id)]


async def site_make(
    client: httpx2.AsyncClient, platform: Platform, callers: Any, machines: int = 6
) -> Site:
    """A site ready to deploy echo 1.0.0 or 1.1.0."""
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    place = await project_make(platform, "acme", "research")
    site = Site(
        client,
        platform,
        place,
        operator,
        bearer(callers.add(RoleName.PROJECT_ADMIN, place)),
        bearer(callers.add(RoleName.PROJECT_VIEWER, place)),
        bearer(callers.add(RoleName.APP_OPERATOR, place, CallerKind.SERVICE_ACCOUNT)),
    )
    sku = {"display_name": "Small", "cpus": 2, "memory_mib": 4096, "price_per_hour": "0.5"}
    app = {"slug": "echo", "display_name": "Echo", "publisher": "Tests"}
    await _made(site, "/regions", {"name": "north", "display_name": "North"})
    await _made(site, "/skus", {"name": "small", **sku})
    await _made(site, "/apps", app)
    for version in ("1.0.0", "1.1.0"):
        body = {"version": version, "manifest": echo_manifest(), "publish": True}
        await _made(site, "/apps/echo/versions", body)
    for scope in (f"tenants/{place.org_id}", f"projects/{place.project_id}"):
        await _made(site, f"/{scope}/entitlements", {"app_slug": "echo"})
    for number in range(machines):
        site.machines.append(await machine_add(site, f"n{number}"))
    return site


async def machine_add(site: Site, name: str) -> str:
    """One machine more, held by the project; the allocation's id."""
    node = {
        "name": name,
        "region": "north",
        "sku": "small",
        "address": f"{name}.lab",
        "host_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"],
    }
    await _made(site, "/nodes", node)
    path = f"/projects/{site.place.project_id}/allocations"
    made = await _made(site, path, {"name": name, "sku": "small", "region": "north"})
    return str(made["id"])


async def _made(site: Site, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await site.client.post(path, json=body, headers=site.operator)
    assert answer.status_code < 300, answer.text
    return dict(answer.json())
