"""A project with machines, for tests of the custody room."""

from dataclasses import dataclass
from typing import Any

import httpx2
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
USER_KEY = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmtaG8VbnJRA2AQKCdmwG5Ilde0bYkSW9xdCChEXkrf me@laptop"
)


@dataclass(frozen=True)
class Site:
    """Two machines held by one project, and callers."""

    client: httpx2.AsyncClient
    platform: Platform
    callers: Any
    place: Place
    root: dict[str, str]
    admin: dict[str, str]
    member: dict[str, str]
    viewer: dict[str, str]
    allocations: tuple[str, ...]

    async def post(
        self, path: str, body: dict[str, Any], who: dict[str, str], **headers: str
    ) -> httpx2.Response:
        """A request; headers' names with underscores for hyphens."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(path, json=body, headers=who | more)

    async def grant(self, number: int = 0, **body: Any) -> Any:
        """A new certificate for one of the machines."""
        path = f"/allocations/{self.allocations[number]}/access-grants"
        answer = await self.post(path, {"public_key": USER_KEY} | body, self.member)
        assert answer.status_code == 201, answer.text
        return answer.json()


async def site_make(
    client: httpx2.AsyncClient, platform: Platform, callers: Any, host_key: str = HOST_KEY
) -> Site:
    """The site; its machines are at 127.0.0.1."""
    root = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    place = await project_make(platform, "acme", "research")
    admin = bearer(callers.add(RoleName.PROJECT_ADMIN, place))
    kind = {"name": "small", "display_name": "Small", "cpus": 2, "memory_mib": 4096}
    node = {"region": "north", "sku": "small", "address": "127.0.0.1", "host_keys": [host_key]}
    for path, body in (
        ("/regions", {"name": "north", "display_name": "North"}),
        ("/skus", kind | {"price_per_hour": "0.50"}),
        ("/nodes", node | {"name": "n1"}),
        ("/nodes", node | {"name": "n2"}),
    ):
        answer = await client.post(path, json=body, headers=root)
        assert answer.status_code == 201, answer.text
    allocations = []
    for name in ("a", "b"):
        wanted = {"name": name, "sku": "small", "region": "north"}
        path = f"/projects/{place.project_id}/allocations"
        answer = await client.post(path, json=wanted, headers=admin)
        assert answer.status_code == 201, answer.text
        allocations.append(answer.json()["id"])
    return Site(
        client, platform, callers, place, root, admin,
        bearer(callers.add(RoleName.PROJECT_MEMBER, place)),
        bearer(callers.add(RoleName.PROJECT_VIEWER, place)), tuple(allocations),
    )  # fmt: skip
