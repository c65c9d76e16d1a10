"""A tenant with sources, a signing key and machines, for tests of the artifacts room."""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from custody_fixtures import site_make as machines_make
from platform_calls import bearer

from gpuaas_contract.artifacts import PART_BYTES_MIN
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

ALLOW_ALL = {"artifact_sources": {"allow": ["blob://*", "oci://*"]}}


class SigningKey:
    """A key that signs as cosign and openssl do."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())

    @property
    def pem(self) -> str:
        """The public half."""
        key = self._key.public_key()
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def sign(self, content: bytes) -> str:
        """A signature over a file's content."""
        return base64.b64encode(self._key.sign(content, ec.ECDSA(SHA256()))).decode()


@dataclass(frozen=True)
class ArtifactSite:
    """A project with two machines, its tenant's people, and the platform's operator."""

    client: httpx2.AsyncClient
    platform: Platform
    callers: Any
    place: Place
    root: dict[str, str]
    boss: dict[str, str]
    lead: dict[str, str]
    robot: dict[str, str]
    viewer: dict[str, str]
    allocations: tuple[str, ...]

    async def ask(
        self, method: str, path: str, who: dict[str, str], body: Any = None, **params: str
    ) -> httpx2.Response:
        """Any request."""
        return await self.client.request(method, path, json=body, headers=who, params=params)

    async def made(self, path: str, who: dict[str, str], body: Any) -> Any:
        """A POST that must succeed."""
        answer = await self.ask("POST", path, who, body)
        assert answer.status_code in {200, 201, 202}, answer.text
        return answer.json()

    async def seen(self, path: str, who: dict[str, str], **params: str) -> Any:
        """A GET that must succeed."""
        answer = await self.ask("GET", path, who, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def shared(self, name: str = "base", **body: Any) -> str:
        """A source of the platform's; its id."""
        made = await self.made("/artifact-sources", self.root, {"name": name} | body)
        return str(made["id"])

    async def own(self, name: str = "tools", **body: Any) -> str:
        """A source of the tenant's; its id."""
        path = f"/tenants/{self.place.org_id}/artifact-sources"
        made = await self.made(path, self.boss, {"name": name} | body)
        return str(made["id"])

    async def allow(self, *patterns: str) -> None:
        """An overlay of the tenant that allows sources."""
        rules = {"artifact_sources": {"allow": list(patterns)}}
        path = f"/tenants/{self.place.org_id}/policy-overlays"
        await self.made(path, self.boss, {"name": "sources", "rules": rules})

    async def part(
        self, artifact_id: str, number: int, content: bytes, who: dict[str, str]
    ) -> httpx2.Response:
        """Send one part."""
        return await self.client.put(
            f"/artifacts/{artifact_id}/parts/{number}",
            content=content,
            headers=who | {"Content-Digest": content_digest(content)},
        )

    async def published(
        self, source_id: str, content: bytes, who: dict[str, str], **body: Any
    ) -> Any:
        """An artifact from its intent to `published`."""
        wanted = intent(content) | body
        made = await self.made(f"/artifact-sources/{source_id}/artifacts", who, wanted)
        for number, part in enumerate(parts_of(content), 1):
            answer = await self.part(made["id"], number, part, who)
            assert answer.status_code == 200, answer.text
        await self.made(f"/artifacts/{made['id']}/complete", who, None)
        done = await self.seen(f"/artifacts/{made['id']}", who, wait="20s")
        assert done["status"] == "published", done
        return done

    async def delivery(self, artifact_id: str, number: int = 0, **body: Any) -> Any:
        """A delivery to one of the machines."""
        path = f"/allocations/{self.allocations[number]}/artifact-deliveries"
        return await self.made(path, self.robot, {"artifact_id": artifact_id} | body)

    async def fetched(self, delivery: Any, **headers: str) -> httpx2.Response:
        """What whoever has the URL gets; headers' names with underscores for hyphens."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        path = delivery["path"].removeprefix("/api/v1")
        return await self.client.get(path, headers=sent)


async def artifact_site_make(
    client: httpx2.AsyncClient, platform: Platform, callers: Any
) -> ArtifactSite:
    """The site."""
    machines = await machines_make(client, platform, callers)
    place, tenant = machines.place, Place(machines.place.org_id)
    roles = {
        "boss": bearer(callers.add(RoleName.TENANT_ADMIN, tenant)),
        "robot": bearer(callers.add(RoleName.APP_OPERATOR, place)),
    }
    return ArtifactSite(
        client, platform, callers, place, machines.root, roles["boss"], machines.admin,
        roles["robot"], machines.viewer, machines.allocations,
    )  # fmt: skip


def intent(content: bytes) -> dict[str, Any]:
    """The announcement of a content."""
    return {
        "name": "runtime", "version": "1.0.0", "platform": "debian-12/amd64",
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content),
        "part_size": PART_BYTES_MIN,
    }  # fmt: skip


def parts_of(content: bytes) -> list[bytes]:
    """A content cut as `intent` says."""
    starts = range(0, len(content), PART_BYTES_MIN)
    return [content[start : start + PART_BYTES_MIN] for start in starts]


def content_digest(content: bytes) -> str:
    """The header that says what a part is."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def content_make(size: int) -> bytes:
    """Bytes that do not repeat within a part, the same each time."""
    block = b"".join(number.to_bytes(4) for number in range(1 << 14))
    return (block * (size // len(block) + 1))[:size]
