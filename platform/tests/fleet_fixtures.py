"""A node agent made of paper, for tests of what the platform says to agents.

It signs with keys of its own and does nothing on any machine; the real one is proven on real
machines by the system tests.
"""

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.fleet_agent import CHALLENGE_NAMESPACE, DIRECTION_NAMESPACE
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.fleet.signatures import public_line, signature_check, signature_make
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import CallerKind, Place

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
FACTS = {"format": 1, "cpu": {"threads": 2}}


@dataclass
class PaperAgent:
    """An agent's side of the talk."""

    client: httpx2.AsyncClient
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    sealing: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)
    node_id: str = ""
    signers: list[dict[str, str]] = field(default_factory=list)
    signers_revision: str = ""
    access_revision: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def keys(self) -> dict[str, str]:
        """Its public halves."""
        sealing = self.sealing.public_key().public_bytes_raw()
        return {
            "identity_key": public_line(self.key),
            "sealing_key": base64.b64encode(sealing).decode(),
        }

    async def enrol(
        self, token: str, host_keys: list[str] | None = None, facts: Any = FACTS
    ) -> httpx2.Response:
        """Use a token."""
        body = {
            "token": token,
            "agent_version": "0.1.0",
            "host_keys": host_keys or [HOST_KEY],
            "facts": facts,
            **self.keys(),
        }
        answer = await self.client.post("/agent/enrol", json=body)
        if answer.status_code == 201:
            self.node_id = answer.json()["node_id"]
            self.signers = answer.json()["signers"]
        return answer

    async def sign_in(self) -> httpx2.Response:
        """Sign a challenge for a token."""
        challenge = (await self.client.post("/agent/challenges")).json()["challenge"]
        return await self.sign_in_with(challenge)

    async def sign_in_with(self, challenge: str) -> httpx2.Response:
        """Sign this challenge."""
        message = f"{self.node_id} {challenge}".encode()
        signature = signature_make(self.key, CHALLENGE_NAMESPACE, message)
        body = {"node_id": self.node_id, "challenge": challenge, "signature": signature}
        answer = await self.client.post("/agent/tokens", json=body)
        if answer.status_code == 201:
            self.headers = bearer(answer.json()["access_token"])
        return answer

    async def post(
        self,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx2.Response:
        """Say something."""
        sent = self.headers | (headers or {})
        return await self.client.post(f"/agent{path}", json=body, headers=sent)

    async def poll(self, wait: str = "0s", **more: Any) -> dict[str, Any]:
        """Ask for directions; texts whose signature is right are opened."""
        said = await self._asked(wait, more)
        if said["signers"] is not None:
            told = self.opened(said["signers"])
            self.signers, self.signers_revision = told["signers"], told["revision"]
            said = await self._asked(wait, more)
        for name in ("access", "leave"):
            said[name] = None if said[name] is None else self.opened(said[name])
        said["tasks"] = [self.opened(one) for one in said["tasks"]]
        if said["access"] is not None:
            self.access_revision = said["access"]["revision"]
        return said

    async def _asked(self, wait: str, more: dict[str, Any]) -> dict[str, Any]:
        body = {
            "agent_version": "0.1.0",
            "access_revision": self.access_revision,
            "signers_revision": self.signers_revision,
        }
        answer = await self.client.post(
            "/agent/poll", params={"wait": wait}, json=body | more, headers=self.headers
        )
        assert answer.status_code == 200, answer.text
        said: dict[str, Any] = answer.json()
        return said

    def opened(self, signed: dict[str, str]) -> dict[str, Any]:
        """A direction's text, if a known key signed it for this node."""
        signer = next(one for one in self.signers if one["key_id"] == signed["key_id"])
        text = signed["payload"].encode()
        signature_check(signer["public_key"], DIRECTION_NAMESPACE, text, signed["signature"])
        direction: dict[str, Any] = json.loads(text)
        assert direction["node_id"] == self.node_id
        return direction


@dataclass
class FleetSite:
    """One node, one allocation, and callers."""

    client: httpx2.AsyncClient
    platform: Platform
    place: Place
    root: dict[str, str]
    admin: dict[str, str]
    operator: dict[str, str]
    viewer: dict[str, str]
    stranger: dict[str, str]
    agent: PaperAgent
    enrolment: dict[str, Any]
    other: Place
    """The stranger's project, of another tenant."""
    allocation_id: str = ""

    @property
    def clock(self) -> Any:
        """The platform's clock, which a test can move."""
        return self.platform.clock

    async def enrolment_make(self, **body: Any) -> dict[str, Any]:
        """An enrolment for a host."""
        node = {"name": "n1", "region": "north", "sku": "small", "address": "192.0.2.1"}
        answer = await self.client.post(
            "/enrolments", json={"node": node} | body, headers=self.root
        )
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def task(self, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A task on the allocation."""
        answer = await self.client.post(
            f"/allocations/{self.allocation_id}/tasks",
            json={"spec": spec} | more,
            headers=self.operator | {"X-Correlation-ID": "story-1"},
        )
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def get(self, path: str, who: dict[str, str] | None = None, **params: Any) -> Any:
        """Read as the operator unless told otherwise."""
        answer = await self.client.get(path, params=params, headers=who or self.operator)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def site_make(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> FleetSite:
    """A site whose host has not enrolled yet."""
    root = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    region = {"name": "north", "display_name": "North"}
    sku = {"name": "small", "display_name": "Small", "cpus": 2, "memory_mib": 2048}
    assert (await client.post("/regions", json=region, headers=root)).status_code == 201
    made = await client.post("/skus", json=sku | {"price_per_hour": "1"}, headers=root)
    assert made.status_code == 201, made.text
    place = await project_make(platform, "acme", "research")
    other = await project_make(platform, "rival", "research")
    site = FleetSite(
        client=client,
        platform=platform,
        place=place,
        root=root,
        admin=bearer(callers.add(RoleName.PROJECT_ADMIN, place)),
        operator=bearer(callers.add(RoleName.APP_OPERATOR, place, CallerKind.SERVICE_ACCOUNT)),
        viewer=bearer(callers.add(RoleName.PROJECT_VIEWER, place)),
        stranger=bearer(callers.add(RoleName.PROJECT_ADMIN, other)),
        agent=PaperAgent(client),
        enrolment={},
        other=other,
    )
    site.enrolment = await site.enrolment_make()
    return site
