"""Fleet: machines that speak for themselves. Enrolments, agents with their facts, node tasks.

Operators enrol hosts and look at agents and facts; apps create tasks on allocations, never on
nodes. What agents and the platform say to each other is in `fleet_agent.py`. Pure.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from gpuaas_contract.common import (
    CorrelationId,
    Input,
    Json,
    Maker,
    Model,
    Name,
    OrgId,
    ProjectId,
    Revision,
    Text,
)
from gpuaas_contract.states import AgentStatus, EnrolmentStatus, NodeTaskStatus

AGENT_FILE: Final = "gpuaas-agent.pyz"
ENROLMENT_TOKEN_PREFIX: Final = "gpe"
FACTS_MAX_BYTES: Final = 256 * 1024
FACTS_MAX_DEPTH: Final = 16
OUTPUT_MAX_BYTES: Final = 1024 * 1024
SCRIPT_MAX: Final = 256 * 1024


def _facts_bounded(value: Json) -> Json:
    level: list[Any] = [value]
    for _ in range(FACTS_MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
    if any(isinstance(left, dict | list) for left in level):
        raise ValueError(f"nested more than {FACTS_MAX_DEPTH} levels deep")
    if len(json.dumps(value, separators=(",", ":")).encode()) > FACTS_MAX_BYTES:
        raise ValueError(f"more than {FACTS_MAX_BYTES} bytes of JSON")
    return value


def _inside(value: Any) -> Iterable[Any]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _path_plain(value: str) -> str:
    if any(word in {".", ".."} for word in value.split("/")):
        raise ValueError("a path of plain words, without . and ..")
    return value


Facts = Annotated[
    Json, AfterValidator(_facts_bounded), Field(description="As `gpuaas-agent facts` prints them")
]
Id = Annotated[str, Field(max_length=64)]
MachinePath = Annotated[
    str,
    AfterValidator(_path_plain),
    Field(
        max_length=1000,
        pattern=r"^(/[^/\x00-\x1f\x7f]+)+$",
        description="Absolute, of plain words",
        examples=["/etc/example/key"],
    ),
]
UserName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$", examples=["root"])]
FileMode = Annotated[str, Field(pattern=r"^0[0-7]{3}$", examples=["0600"])]
Principal = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_:.@-]{0,199}$")]


class EnrolmentNode(Input):
    """The node a host becomes."""

    name: Name
    region: Annotated[Name, Field(description="Name of the region it stands in")]
    sku: Annotated[Name, Field(description="Name of its kind of machine")]
    address: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=253,
            description="Where its sshd is reached; the address the agent calls from without it",
        ),
    ] = None


class EnrolmentCreate(Input):
    """A host is to become a node, or to get an agent for a node that is known already."""

    node: Annotated[
        EnrolmentNode | None,
        Field(description="The node the host becomes; or name one by `node_id`"),
    ] = None
    node_id: Annotated[
        Id | None, Field(description="A known node without an agent; its host keys must be met")
    ] = None
    platform_url: Annotated[
        str | None,
        Field(
            max_length=500,
            pattern=r"^https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9._~/-]*)?$",
            description="How the host reaches the platform; its public address without it",
        ),
    ] = None
    expires_in_seconds: Annotated[
        int,
        Field(ge=60, le=7 * 86_400, description="How long the command works; an hour unless said"),
    ] = 3600


class Enrolment(Model):
    """A permission to enrol one host, once."""

    id: str
    status: EnrolmentStatus
    node_name: str
    region: str
    sku: str
    address: str | None
    node_id: Annotated[str | None, Field(description="The node, once there is one")]
    expires_at: datetime
    used_at: datetime | None
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime


class EnrolmentCreated(Model):
    """A new enrolment with its token, which is shown once, inside the command for the host."""

    enrolment: Enrolment
    token: Annotated[str, Field(description="For one enrolment; nobody can read it again")]
    command: Annotated[str, Field(description="To be run as root on the host; needs Python only")]
    agent_digest: Annotated[str, Field(description="SHA-256 of the agent the host will accept")]


class EnrolmentRevoke(Input):
    """End an enrolment nobody has used."""

    reason: Annotated[Text, Field(description="Why; kept in the audit log")] = ""


class AgentIdentity(Model):
    """An identity of an agent."""

    id: str
    fingerprint: str
    created_at: datetime
    expires_at: datetime


class NodeAgent(Model):
    """A node's agent, seen by operators."""

    node_id: str
    status: AgentStatus
    agent_version: str
    identities: Annotated[list[AgentIdentity], Field(description="Usable ones, newest first")]
    last_seen_at: datetime | None
    boot_id: Annotated[str, Field(description="Changes when the machine boots")]
    enrolled_at: datetime
    access_applied: Annotated[
        bool, Field(description="Its sshd trusts exactly what it should, as far as it has said")
    ]
    access_error: Annotated[str, Field(description="Why its sshd could not be set up, if so")]


class AccessCarrier(StrEnum):
    """Who brings to a machine whom its sshd is to let in."""

    AGENT = "agent"
    PROVIDER = "provider"
    NOBODY = "nobody"


class NodeAccess(Model):
    """Whether a machine lets in whom it should."""

    node_id: str
    carrier: Annotated[
        AccessCarrier,
        Field(description="Its agent, the provider that made it, or nobody: then it is not known"),
    ]
    applied: Annotated[
        bool,
        Field(description="Its sshd trusts exactly what it should, as far as was confirmed"),
    ]
    confirmed_at: Annotated[
        datetime | None, Field(description="When its carrier last said what it trusts")
    ]
    error: Annotated[str, Field(description="Why the last attempt to tell it failed, if so")]


class NodeFacts(Model):
    """What a node's agent said of its machine."""

    node_id: str
    reported_at: datetime
    facts: Json


class NodeUnenrol(Input):
    """Let a node's agent clean its host and go."""

    reason: Annotated[
        str, Field(min_length=1, max_length=2000, description="Why; kept in the audit log")
    ]
    force: Annotated[
        bool,
        Field(description="The host will not come back: end its identity, leave it as it is"),
    ] = False


class TaskKind(StrEnum):
    """What a task does."""

    RUN_SCRIPT = "run_script"
    DELIVER_ARTIFACT = "deliver_artifact"
    DELIVER_SECRET = "deliver_secret"
    COLLECT_FILE = "collect_file"
    PRINCIPALS_SET = "principals_set"


class RunScript(Input):
    """Run a script with /bin/sh, under limits; ends with everything it started."""

    kind: Annotated[Literal[TaskKind.RUN_SCRIPT], Field(description="What the task does")] = (
        TaskKind.RUN_SCRIPT
    )
    script: Annotated[
        str,
        Field(
            min_length=1,
            max_length=SCRIPT_MAX,
            description="Readable by others later: not for secrets",
        ),
    ]
    user: Annotated[UserName, Field(description="As whom it runs")] = "root"
    environment: Annotated[
        dict[
            Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")],
            Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]*$")],
        ],
        Field(max_length=64, description="Readable by others later: not for secrets"),
    ] = {}
    timeout_seconds: Annotated[
        int, Field(ge=1, le=86_400, description="It is ended after this long, with all it started")
    ] = 600
    memory_mib: Annotated[
        int | None,
        Field(
            ge=16,
            le=67_108_864,
            description="Of all its processes; of each, where the machine cannot count them all",
        ),
    ] = None
    output_bytes: Annotated[
        int,
        Field(
            ge=1024,
            le=OUTPUT_MAX_BYTES,
            description="Output kept; of more, the beginning and the end",
        ),
    ] = 256 * 1024


class FileTarget(Input):
    """Where a file goes and whose it is."""

    path: Annotated[MachinePath, Field(description="Where the file goes: absolute, of plain words")]
    owner: Annotated[UserName, Field(description="The user whose file it is")] = "root"
    group: Annotated[UserName, Field(description="The group whose file it is")] = "root"


class DeliverArtifact(FileTarget):
    """Have the machine fetch a file; it appears whole and verified, or not at all."""

    kind: Annotated[Literal[TaskKind.DELIVER_ARTIFACT], Field(description="What the task does")]
    artifact_id: Annotated[Id, Field(description="Which artifact")]
    mode: Annotated[FileMode, Field(description="Permission bits, in octal")] = "0644"
    timeout_seconds: Annotated[
        int, Field(ge=1, le=86_400, description="The fetch is given up after this long")
    ] = 3600


class DeliverSecret(FileTarget):
    """Put a runtime secret of the project into a file; it travels sealed to the machine."""

    kind: Annotated[Literal[TaskKind.DELIVER_SECRET], Field(description="What the task does")]
    secret_id: Annotated[Id, Field(description="Which runtime secret of the project")]
    mode: Annotated[FileMode, Field(description="Permission bits, in octal")] = "0600"


class CollectFile(Input):
    """Bring a file back as the task's output."""

    kind: Annotated[Literal[TaskKind.COLLECT_FILE], Field(description="What the task does")]
    path: Annotated[
        MachinePath, Field(description="The file on the machine: absolute, of plain words")
    ]
    max_bytes: Annotated[
        int, Field(ge=1, le=OUTPUT_MAX_BYTES, description="A larger file is refused")
    ] = 256 * 1024


class PrincipalsSet(Input):
    """Which principals may log in as which users, beside the allocation's own as root.

    Replaces what was set before; ends with the allocation.
    """

    kind: Annotated[Literal[TaskKind.PRINCIPALS_SET], Field(description="What the task does")]
    users: Annotated[
        dict[UserName, Annotated[list[Principal], Field(max_length=64)]],
        Field(
            max_length=256,
            description="Principals are the allocation's id, or begin with it and a colon",
        ),
    ]


TaskSpec = Annotated[
    RunScript | DeliverArtifact | DeliverSecret | CollectFile | PrincipalsSet,
    Field(discriminator="kind"),
]


class NodeTaskCreate(Input):
    """Work for the machine of an allocation."""

    spec: Annotated[TaskSpec, Field(description="What is to be done; `kind` says which of these")]
    label: Annotated[str, Field(max_length=200, description="One line for people")] = ""
    begin_within_seconds: Annotated[
        int, Field(ge=5, le=7 * 86_400, description="It expires when it has not begun by then")
    ] = 900


class TaskResult(Model):
    """How a task ended."""

    code: Annotated[
        str,
        Field(
            description="`ok`, or what went wrong",
            examples=["ok", "exit_status", "timed_out", "interrupted", "no_space"],
        ),
    ]
    message: str = ""
    exit_status: Annotated[
        int | None, Field(description="Of the script; null where none ran to its end")
    ] = None
    digest: Annotated[str | None, Field(description="Of the file that was moved")] = None
    size: Annotated[int | None, Field(description="Bytes of the file that was moved")] = None
    seconds: Annotated[float | None, Field(description="How long it took on the machine")] = None


class NodeTask(Model):
    """Work for the machine of an allocation, and how far it is."""

    id: str
    org_id: OrgId
    project_id: ProjectId
    allocation_id: str
    node_id: str
    kind: TaskKind
    spec: Json
    label: str
    status: NodeTaskStatus
    cancel_requested_at: Annotated[
        datetime | None, Field(description="Since when it is to be stopped")
    ]
    result: TaskResult | None
    output_bytes: Annotated[int, Field(description="Output the platform has")]
    output_cut: Annotated[bool, Field(description="The machine wrote more than was kept")]
    begin_before: Annotated[datetime, Field(description="It expires when it has not begun by then")]
    started_at: datetime | None
    ended_at: datetime | None
    created_by: Maker
    revision: Revision
    correlation_id: CorrelationId
    created_at: datetime


class NodeTaskCancel(Input):
    """Stop a task."""

    reason: Annotated[Text, Field(description="Why; kept in the audit log")] = ""


class TaskOutput(Model):
    """A piece of a task's output."""

    task_id: str
    offset: int
    data: Annotated[str, Field(description="Base64: a task may write any bytes")]
    next_offset: Annotated[int, Field(description="Where to go on reading")]
    complete: Annotated[bool, Field(description="The task has ended and this is its end")]
    cut: Annotated[bool, Field(description="The machine wrote more than was kept")]
