"""Capacity: regions, SKUs, nodes, allocations and quotas.

A project holds allocations; an allocation is one machine. Apps name allocations, never nodes.
`scheduler_type` and `integration` are stored for whoever integrates and never interpreted.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from gpuaas_contract.common import Condition, Input, Model, Name, Text
from gpuaas_contract.states import AllocationStatus

Price = Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=4)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217", examples=["EUR"])]
HostKey = Annotated[
    str, Field(max_length=2000, pattern=r"^(ssh|ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/=]+$")
]
Metadata = Annotated[dict[str, Any], Field(max_length=64, description="Opaque to the platform")]


class NodeStatus(StrEnum):
    """Whether a node may be given out."""

    READY = "ready"
    CORDONED = "cordoned"


class RegionCreate(Input):
    """A place where nodes are."""

    name: Name
    display_name: Annotated[str, Field(min_length=1, max_length=200)]
    provider: Annotated[
        Name,
        Field(
            description="Who has its machines: `enrolled` for hosts that are there already, or the"
            " name of an installed provider that makes a machine when one is wanted"
        ),
    ] = "enrolled"
    provider_options: Metadata = Field(default_factory=dict)


class Region(Model):
    """A place where nodes are."""

    id: str
    name: str
    display_name: str
    provider: str
    created_at: datetime


class SkuCreate(Input):
    """A kind of machine with its price."""

    name: Name
    display_name: Annotated[str, Field(min_length=1, max_length=200)]
    cpus: Annotated[int, Field(ge=1, le=4096)]
    memory_mib: Annotated[int, Field(ge=1, le=67_108_864)]
    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    gpu_model: Annotated[str, Field(max_length=100)] = ""
    price_per_hour: Price
    currency: Currency = "EUR"


class SkuUpdate(Input):
    """A new price; what is billed already keeps the price it had."""

    price_per_hour: Price | None = None
    display_name: Annotated[str | None, Field(min_length=1, max_length=200)] = None


class Sku(Model):
    """A kind of machine with its price."""

    id: str
    name: str
    display_name: str
    cpus: int
    memory_mib: int
    gpus: int
    gpu_model: str
    price_per_hour: Decimal
    currency: str
    revision: int
    created_at: datetime


class NodeCreate(Input):
    """An existing host, made known by an administrator with the host keys to expect."""

    name: Name
    region: Name
    sku: Name
    address: Annotated[str, Field(min_length=1, max_length=253)]
    host_keys: Annotated[
        list[
            Annotated[
                str, Field(max_length=2000, pattern=r"^(ssh|ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/=]+$")
            ]
        ],
        Field(min_length=1, max_length=8, description="SSH host keys: never trusted on first use"),
    ]


class NodeUpdate(Input):
    """Cordon a node (no new allocation lands on it) or open it again."""

    status: NodeStatus
    reason: Text = ""


class Node(Model):
    """A machine of the platform, seen by its operators."""

    id: str
    name: str
    region: str
    sku: str
    provider: str
    status: NodeStatus
    status_reason: str
    address: str
    host_keys: list[str]
    allocation_id: str | None
    revision: int
    created_at: datetime
    agent_version: Annotated[str | None, Field(description="Null without an agent")] = None
    last_seen_at: Annotated[datetime | None, Field(description="When its agent last spoke")] = None
    conditions: Annotated[
        list[Condition],
        Field(
            description="`agent_absent` while its agent is not heard; `access_outstanding` while"
            " its provider could not tell it whom to let in"
        ),
    ] = []


class AllocationCreate(Input):
    """A machine wanted. `node_id` is for administrators; everybody else is placed."""

    name: Name
    sku: Name
    region: Name
    node_id: Annotated[str | None, Field(max_length=64)] = None
    scheduler_type: Annotated[str, Field(max_length=64)] = ""
    integration: Metadata = Field(default_factory=dict)


class Allocation(Model):
    """A machine held by a project."""

    id: str
    name: str
    org_id: str
    project_id: str
    sku: str
    region: str
    status: AllocationStatus
    status_reason: str
    address: str | None
    host_keys: list[str]
    bound_instance_id: str | None
    scheduler_type: str
    integration: dict[str, Any]
    revision: int
    correlation_id: str
    created_at: datetime


class QuotaSet(Input):
    """How many allocations of a SKU (or `*`: of all) may be held at once."""

    sku: Annotated[str, Field(pattern=r"^(\*|[a-z][a-z0-9-]{0,62})$")] = "*"
    limit: Annotated[int, Field(ge=0, le=1_000_000)]


class Quota(Model):
    """A quota with its present use."""

    org_id: str
    project_id: str | None
    sku: str
    limit: int
    used: int
