"""Capacity: regions, SKUs, nodes, allocations and quotas.

A project holds allocations; an allocation is one machine. Apps name allocations, never nodes.
`scheduler_type` and `integration` are stored for whoever integrates and never interpreted.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from gpuaas_contract.common import (
    Condition,
    CorrelationId,
    Input,
    Model,
    Name,
    OrgId,
    ProjectId,
    Revision,
    Text,
)
from gpuaas_contract.states import AllocationStatus, NodeStatus

Price = Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=4)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217", examples=["EUR"])]
HostKey = Annotated[
    str, Field(max_length=2000, pattern=r"^(ssh|ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/=]+$")
]
Metadata = Annotated[dict[str, Any], Field(max_length=64, description="Opaque to the platform")]


class CleaningMethod(StrEnum):
    """How the machines of a region are cleaned before another tenant may get them."""

    SAME_TENANT_ONLY = "same_tenant_only"
    ATTESTED = "attested"
    REIMAGE = "reimage"
    RECREATE = "recreate"


CLEANING_MEANING: Final = {
    CleaningMethod.SAME_TENANT_ONLY: "Machines are not cleaned: one that a tenant has held is"
    " given out to that tenant alone, never to another.",
    CleaningMethod.ATTESTED: "An operator cleans a machine by hand and confirms it; until then no"
    " other tenant gets it.",
    CleaningMethod.REIMAGE: "A machine is installed anew by a hook and enrols afresh; until then no"
    " other tenant gets it.",
    CleaningMethod.RECREATE: "The provider takes the machine away when it is released and makes a"
    " new one for the next allocation.",
}
"""Each method in words, as API, command line and console show it."""


class ReimageHook(Input):
    """The endpoint that installs a machine anew when the platform asks for it."""

    url: Annotated[
        str, Field(max_length=2000, description="Gets a signed POST; answers 2xx when it begins")
    ]
    deadline_seconds: Annotated[
        int,
        Field(ge=60, le=86_400, description="The machine must have enrolled afresh by then"),
    ] = 3600
    platform_url: Annotated[
        str | None,
        Field(
            max_length=500,
            pattern=r"^https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9._~/-]*)?$",
            description="How the machine reaches the platform; its public address without it",
        ),
    ] = None


class RegionCleaningSet(Input):
    """How the machines of a region are cleaned between tenants."""

    method: Annotated[
        CleaningMethod,
        Field(description="`recreate` is for regions of a provider, and the only method there"),
    ]
    keep_warm_seconds: Annotated[
        int,
        Field(
            ge=0,
            le=30 * 86_400,
            description="A released machine is kept for its own tenant for this long before it is"
            " cleaned; 0: it is cleaned at every release",
        ),
    ] = 900
    reimage: Annotated[
        ReimageHook | None, Field(description="The hook; required by `reimage`, refused otherwise")
    ] = None
    secret_renew: Annotated[
        bool, Field(description="Make a new signing secret for the hook; it is answered once")
    ] = False


class RegionCleaning(Model):
    """How the machines of a region are cleaned between tenants."""

    region: str
    method: CleaningMethod
    meaning: Annotated[str, Field(description="The method in words")]
    keep_warm_seconds: int
    reimage: ReimageHook | None
    revision: Revision


class RegionCleaningSaved(Model):
    """The setting as it is kept, with the hook's signing secret when one was made."""

    cleaning: RegionCleaning
    secret: Annotated[
        str | None, Field(description="Shown once, when it is new; verifies the hook's requests")
    ]


class RegionCreate(Input):
    """A place where nodes are."""

    name: Name
    display_name: Annotated[str, Field(min_length=1, max_length=200, description="What people see")]
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
    provider: Annotated[
        str, Field(description="`enrolled`, or the provider that makes its machines")
    ]
    cleaning: Annotated[
        CleaningMethod, Field(description="How its machines are cleaned between tenants")
    ]
    cleaning_meaning: Annotated[str, Field(description="The same in words")]
    created_at: datetime


class SkuCreate(Input):
    """A kind of machine with its price."""

    name: Name
    display_name: Annotated[str, Field(min_length=1, max_length=200, description="What people see")]
    cpus: Annotated[int, Field(ge=1, le=4096, description="Processors of one machine")]
    memory_mib: Annotated[
        int, Field(ge=1, le=67_108_864, description="Memory of one machine, in MiB")
    ]
    gpus: Annotated[int, Field(ge=0, le=64, description="GPUs of one machine")] = 0
    gpu_model: Annotated[
        str, Field(max_length=100, description="As people know it, e.g. `H200`")
    ] = ""
    price_per_hour: Annotated[
        Price, Field(description="Of one machine, while an allocation holds it")
    ]
    currency: Currency = "EUR"


class SkuUpdate(Input):
    """A new price; what is billed already keeps the price it had."""

    price_per_hour: Annotated[Price | None, Field(description="Of one machine, from now on")] = None
    display_name: Annotated[
        str | None, Field(min_length=1, max_length=200, description="What people see")
    ] = None


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
    revision: Revision
    created_at: datetime


class NodeCreate(Input):
    """An existing host, made known by an administrator with the host keys to expect."""

    name: Name
    region: Annotated[Name, Field(description="Name of the region it stands in")]
    sku: Annotated[Name, Field(description="Name of its kind of machine")]
    address: Annotated[
        str,
        Field(
            min_length=1,
            max_length=253,
            description="Where its sshd is reached: a host name or an IP address",
        ),
    ]
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

    status: Annotated[
        Literal[NodeStatus.READY, NodeStatus.CORDONED],
        Field(description="`cordoned`: given out no more; `ready`: given out again"),
    ]
    reason: Annotated[Text, Field(description="Why; shown beside the status")] = ""


class Node(Model):
    """A machine of the platform, seen by its operators."""

    id: str
    name: str
    region: str
    sku: str
    provider: Annotated[str, Field(description="`enrolled`, or the provider that made it")]
    status: Annotated[
        NodeStatus,
        Field(
            description="`cleaning`: on its way from one tenant to others; `set_aside`: its"
            " cleaning failed, and it is given out to no tenant"
        ),
    ]
    status_reason: Annotated[
        str, Field(description="Why it was cordoned, or what its cleaning waits for")
    ]
    address: Annotated[str, Field(description="Where its sshd is reached")]
    host_keys: Annotated[list[str], Field(description="SSH host keys it must show")]
    allocation_id: Annotated[
        str | None, Field(description="The allocation that holds it; null while it is free")
    ]
    last_org_id: Annotated[
        str | None,
        Field(
            description="The tenant that holds it or held it last; given out to that tenant alone"
            " until it is cleaned. Null: no tenant's traces are on it"
        ),
    ]
    revision: Revision
    created_at: datetime
    agent_version: Annotated[str | None, Field(description="Null without an agent")] = None
    last_seen_at: Annotated[datetime | None, Field(description="When its agent last spoke")] = None
    conditions: Annotated[
        list[Condition],
        Field(
            description="`agent_absent` while its agent is not heard; `agent_left` when its agent"
            " was taken away while an allocation held it; `access_outstanding` while its provider"
            " could not tell it whom to let in; `identity_shared` since its agent's identity was"
            " used by a second host"
        ),
    ] = []


class NodeClean(Input):
    """Take a free node out of its last tenant's use and clean it now."""

    reason: Annotated[Text, Field(description="Why; kept in the audit log")] = ""


class AllocationCreate(Input):
    """A machine wanted. `node_id` is for administrators; everybody else is placed."""

    name: Name
    sku: Annotated[Name, Field(description="Name of the kind of machine")]
    region: Annotated[Name, Field(description="Name of the region")]
    node_id: Annotated[
        str | None, Field(max_length=64, description="A certain machine; for administrators")
    ] = None
    scheduler_type: Annotated[
        str, Field(max_length=64, description="Stored for whoever integrates, never interpreted")
    ] = ""
    integration: Annotated[
        Metadata, Field(description="Stored for whoever integrates, never interpreted")
    ] = Field(default_factory=dict)


class Allocation(Model):
    """A machine held by a project."""

    id: str
    name: str
    org_id: OrgId
    project_id: ProjectId
    sku: str
    region: str
    status: AllocationStatus
    status_reason: Annotated[
        str, Field(description="Why it is so, where there is something to say")
    ]
    address: Annotated[
        str | None, Field(description="Where its sshd is reached; null until there is a machine")
    ]
    host_keys: Annotated[list[str], Field(description="SSH host keys the machine must show")]
    bound_instance_id: Annotated[
        str | None, Field(description="The app instance that uses it; null while none does")
    ]
    scheduler_type: str
    integration: dict[str, Any]
    revision: Revision
    correlation_id: CorrelationId
    created_at: datetime
    conditions: Annotated[
        list[Condition],
        Field(description="`agent_left` when the agent of its machine was taken away"),
    ] = []


class QuotaSet(Input):
    """How many allocations of a SKU (or `*`: of all) may be held at once."""

    sku: Annotated[
        str,
        Field(
            pattern=r"^(\*|[a-z][a-z0-9-]{0,62})$",
            description="Name of a kind of machine; `*` for all together",
        ),
    ] = "*"
    limit: Annotated[
        int, Field(ge=0, le=1_000_000, description="Allocations that may be held at once; 0: none")
    ]


class Quota(Model):
    """A quota with its present use."""

    org_id: OrgId
    project_id: Annotated[str | None, Field(description="Null: it holds for the whole tenant")]
    sku: Annotated[str, Field(description="A kind of machine; `*`: all together")]
    limit: Annotated[int, Field(description="Allocations that may be held at once")]
    used: Annotated[int, Field(description="Allocations held now")]
