"""A project with machines, for tests of the custody room."""

import base64
from dataclasses import dataclass
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from eventually import eventually
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.custody.life import sweep_turn
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import CallerKind, Place

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
    operator: dict[str, str]
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
        answer = await self.post(path, {"public_key": USER_KEY} | body, self.operator)
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
        bearer(callers.add(RoleName.APP_OPERATOR, place)),
        bearer(callers.add(RoleName.PROJECT_MEMBER, place)),
        bearer(callers.add(RoleName.PROJECT_VIEWER, place)), tuple(allocations),
    )  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A service account of the project, with the private key its secrets are sealed to."""

    id: str
    key: X25519PrivateKey

    @property
    def headers(self) -> dict[str, str]:
        """The header that makes a request this account's."""
        return bearer(self.id)

    def opened(self, sealed: dict[str, str]) -> bytes:
        """What was sealed, opened as the contract says."""
        suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
        box = base64.b64decode(sealed["ciphertext"])
        return suite.decrypt(box, self.key, sealed["info"].encode())


async def reader_make(site: Site, *, registered: bool = True) -> Reader:
    """A service account that runs an app in the project."""
    role = RoleName.APP_OPERATOR
    account = site.callers.add(role, site.place, CallerKind.SERVICE_ACCOUNT)
    key = X25519PrivateKey.generate()
    await site.platform.db.execute(
        "INSERT INTO service_accounts (id, org_id, project_id, name, display_name, description,"
        " public_key, created_at) VALUES ($1, $2, $3, $4, $4, '', $5, $6)",
        account, site.place.org_id, site.place.project_id, account.replace("_", "-"),
        key.public_key().public_bytes_raw() if registered else None, site.platform.clock.now(),
    )  # fmt: skip
    return Reader(account, key)


def private_key_make() -> str:
    """A private key as somebody would paste it."""
    return (
        Ed25519PrivateKey.generate()
        .private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        .decode()
    )


async def swept(platform: Platform) -> None:
    """Sweep, and wait for the platform's own sweep where that one was faster."""
    await sweep_turn(platform)
    now = platform.clock.now()
    none = "SELECT count(*) = 0 FROM secret_sweep WHERE taken OR due_at <= $1"
    await eventually(lambda: platform.db.fetchval(none, now), what="the sweep ends")
