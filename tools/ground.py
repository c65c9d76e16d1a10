"""Firm ground to work on: a served platform, a project with an operator, and lab machines it holds.

    async with Lab.up("mine", 2) as lab, ground_up(lab) as ground:
        async with ground.operator() as client:
            machine = await Machines(client).open(ground.allocation("n1"))

Used by system tests, benchmarks and the demo. The platform is the real command as a process of its
own, with its embedded database, reached on loopback and by the machines over their bridge.
Everything is made over the public API; only sshd's trust is written through the lab, for machines
whose agent does not do it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from gpuaas_contract.access import Whoami
from gpuaas_contract.capacity import (
    Allocation,
    AllocationCreate,
    Node,
    NodeCreate,
    Region,
    RegionCreate,
    Sku,
    SkuCreate,
)
from gpuaas_contract.custody import SshCa
from gpuaas_contract.identity import (
    PersonalTokenCreate,
    Project,
    ProjectCreate,
    ServiceAccount,
    ServiceAccountCreate,
    ServiceAccountKeyCreate,
    ServiceAccountKeyCreated,
    SignIn,
    Tenant,
    TenantCreate,
)
from gpuaas_contract.permissions import RoleName
from gpuaas_lab import Lab, Machine
from gpuaas_sdk import BearerToken, Client, Request, ServiceAccountKey
from gpuaas_sdk.sign_in import password_sign_in
from tools.served import Served, served, served_folder

ADMINISTRATOR: Final = "admin@ground.example"
REGION: Final = "lab"
SKU: Final = "lab-machine"
CA_FILE: Final = "/etc/ssh/gpuaas_ca.pub"
PRINCIPALS: Final = "/etc/ssh/gpuaas_principals"
"""A folder with a file for each user: which principals may log in as them."""
KRL_FILE: Final = "/etc/ssh/gpuaas.krl"
_SSHD_FILE: Final = "/etc/ssh/sshd_config.d/gpuaas-ground.conf"
_SSHD: Final = f"""TrustedUserCAKeys {CA_FILE}
AuthorizedPrincipalsFile {PRINCIPALS}/%u
RevokedKeys {KRL_FILE}
LogLevel VERBOSE
"""


@dataclass(frozen=True)
class Operator:
    """A service account that works in one project: its key, and the key secrets are sealed to."""

    id: str
    project_id: str
    key: str
    sealing_key: X25519PrivateKey


@dataclass
class Ground:
    """A platform, a tenant with a project and its operator, and machines held by the project."""

    served: Served
    lab: Lab
    password: str
    admin: Client
    """The platform's administrator, who is the tenant's too."""
    org_id: str
    project: Operator
    nodes: dict[str, str] = field(default_factory=dict)
    """Ids of nodes, by the machine's name."""
    held: dict[str, str] = field(default_factory=dict)
    """Names of machines, by the allocation that holds them, in order."""

    @property
    def url(self) -> str:
        """Where the platform answers, on loopback."""
        return self.served.url

    @property
    def bridge_url(self) -> str:
        """Where the machines reach the platform."""
        return f"http://{self.lab.host_address}:{self.served.port}"

    @property
    def project_id(self) -> str:
        """The project that holds the machines."""
        return self.project.project_id

    @property
    def allocations(self) -> tuple[str, ...]:
        """The allocations, in the machines' order."""
        return tuple(self.held)

    def allocation(self, machine: str) -> str:
        """The allocation that holds a machine."""
        return {name: one for one, name in self.held.items()}[machine]

    def machine(self, allocation_id: str) -> Machine:
        """The lab's own handle on the machine of an allocation."""
        return self.lab.machine(self.held[allocation_id])

    def operator(self, who: Operator | None = None) -> Client:
        """A client with the key of the project's service account; close it."""
        return Client(self.url, ServiceAccountKey((who or self.project).key))

    async def project_add(self, name: str) -> Operator:
        """Another project of the tenant, with an operator of its own."""
        return await _project(self.admin, self.org_id, name)

    async def node_add(self, machine: Machine) -> str:
        """Make a machine known as a node."""
        body = NodeCreate(
            name=machine.name,
            region=REGION,
            sku=SKU,
            address=str(machine.address),
            host_keys=[" ".join(machine.host_key.split()[:2])],
        )
        node = await self.admin.post("/nodes", body, Node)
        self.nodes[machine.name] = node.id
        return node.id

    async def hold(self, *machines: str, project_id: str | None = None) -> list[Allocation]:
        """Allocate exactly these machines to a project, and let each sshd know."""
        path = f"/projects/{project_id or self.project_id}/allocations"

        async def one(name: str) -> Allocation:
            body = AllocationCreate(name=name, sku=SKU, region=REGION, node_id=self.nodes[name])
            allocation = await self.admin.post(path, body, Allocation)
            await self.trust(self.lab.machine(name), [allocation.id])
            return allocation

        made = await asyncio.gather(*(one(name) for name in machines))
        self.held |= {one.id: name for one, name in zip(made, machines, strict=True)}
        return made

    async def release(self, allocation_id: str) -> None:
        """Give a machine back; its sshd forgets who held it."""
        await self.admin.post(f"/allocations/{allocation_id}/release", None, Allocation)
        await self.trust(self.machine(allocation_id), [])
        del self.held[allocation_id]

    async def trust(self, machine: Machine, principals: Iterable[str]) -> None:
        """Have a machine's sshd take certificates of the platform for these principals."""
        authority = await self.admin.get("/ssh/ca", SshCa)
        keys = "".join(f"{key.public_key}\n" for key in authority.keys)
        await machine.write(CA_FILE, keys)
        await machine.write(f"{PRINCIPALS}/root", "".join(f"{name}\n" for name in principals))
        await self.revocations_write(machine)
        # What these files say is read for every login; that they are there is learnt by a reload,
        # and while sshd reloads it takes no connections.
        await machine.run(
            f"cat >/run/sshd.new; cmp -s /run/sshd.new {_SSHD_FILE} && exit;"
            f" mv /run/sshd.new {_SSHD_FILE}; systemctl reload ssh",
            stdin=_SSHD,
        )

    async def revocations_write(self, machine: Machine) -> None:
        """Bring a machine the present revocation list."""
        krl = (await self.admin.send(Request("GET", "/ssh/krl"))).content
        await machine.write(KRL_FILE, krl)


@contextlib.asynccontextmanager
async def ground_up(
    lab: Lab, *, hold: int | None = None, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Ground]:
    """A platform on this lab for the length of a block; `hold` machines of it are allocated (all).

    `settings` are the platform's own, such as {"GPUAAS_LOG_LEVEL": "debug"}.
    """
    password = secrets.token_urlsafe(16)
    with served_folder() as folder:
        given = _settings(folder, lab, password) | dict(settings or {})
        async with served(folder, given) as platform, Client(platform.url) as nobody:
            who = SignIn(email=ADMINISTRATOR, password=password)
            token = await password_sign_in(nobody, who, PersonalTokenCreate(name="ground"))
            async with Client(platform.url, BearerToken(token.secret)) as admin:
                ground = await ground_found(platform, lab, admin, password)
                await asyncio.gather(*(ground.node_add(machine) for machine in lab.machines))
                await ground.hold(*[machine.name for machine in lab.machines][:hold])
                yield ground


async def ground_found(
    platform: Served, lab: Lab, admin: Client, password: str, tenant_name: str = "ground"
) -> Ground:
    """Make a tenant with a project, and what its machines are sold as; no machine is held yet."""
    me = await admin.get("/whoami", Whoami)
    await admin.post("/regions", RegionCreate(name=REGION, display_name="Lab"), Region)
    kind = SkuCreate(
        name=SKU, display_name="Lab machine", cpus=2, memory_mib=4096, price_per_hour=Decimal("0.5")
    )
    await admin.post("/skus", kind, Sku)
    tenant = await admin.post(
        "/tenants", TenantCreate(name=tenant_name, admin_user_id=me.id), Tenant
    )
    project = await _project(admin, tenant.id, "research")
    return Ground(platform, lab, password, admin, tenant.id, project)


def _settings(folder: Path, lab: Lab, password: str) -> dict[str, str]:
    file = folder.with_suffix(".password")
    file.touch(mode=0o600)
    file.write_text(password)
    return {
        "GPUAAS_HOST": f"127.0.0.1,{lab.host_address}",
        "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": ADMINISTRATOR,
        "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(file),
    }


async def _project(admin: Client, org_id: str, name: str) -> Operator:
    """A project and the service account an app's controller works with there."""
    project = await admin.post(f"/tenants/{org_id}/projects", ProjectCreate(name=name), Project)
    sealing = X25519PrivateKey.generate()
    body = ServiceAccountCreate(
        name="operator",
        roles=[RoleName.APP_OPERATOR],
        public_key=base64.b64encode(sealing.public_key().public_bytes_raw()).decode(),
    )
    path = f"/projects/{project.id}/service-accounts"
    account = await admin.post(path, body, ServiceAccount)
    key = await admin.post(
        f"/service-accounts/{account.id}/keys", ServiceAccountKeyCreate(), ServiceAccountKeyCreated
    )
    return Operator(account.id, project.id, key.secret, sealing)
