"""What a node agent and the platform say to each other: enrolment, identity, directions, reports.

What the platform tells an agent to do is a signed text bound to that node (`Signed`); what a
machine says of a task may be said again and changes nothing the second time. Pure.
"""

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from gpuaas_contract.capacity import HostKey
from gpuaas_contract.common import CorrelationId, Input, Json, Model, Text
from gpuaas_contract.custody import Sealed
from gpuaas_contract.fleet import OUTPUT_MAX_BYTES, Facts, Id, TaskKind
from gpuaas_contract.states import NodeTaskStatus

CHALLENGE_NAMESPACE: Final = "gpuaas-agent-challenge"
DIRECTION_NAMESPACE: Final = "gpuaas-direction"
NODE_SEALING_SUITE: Final = "DHKEM-X25519-HKDF-SHA256, HKDF-SHA256, ChaCha20Poly1305"
OUTPUT_CHUNK_BYTES: Final = 64 * 1024
MAX_HELD_TASKS: Final = 64

IdentityKey = Annotated[
    str,
    Field(
        pattern=r"^ssh-ed25519 [A-Za-z0-9+/=]{68}$",
        description="Public half of the agent's identity, as OpenSSH writes it",
    ),
]
SealingKey = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$", description="X25519 public key, base64")
]
Signature = Annotated[
    str, Field(min_length=1, max_length=2000, description="An SSH signature (ssh-keygen -Y sign)")
]
AgentVersion = Annotated[str, Field(max_length=64)]


class Signed(Model):
    """A direction for one agent: text and its signature by the platform."""

    payload: Annotated[str, Field(description="JSON; the signature is over exactly this text")]
    signature: Annotated[str, Field(description="An SSH signature (ssh-keygen -Y verify)")]
    key_id: str


class SignerKey(Model):
    """A key the platform signs directions with."""

    key_id: str
    public_key: Annotated[str, Field(description="A line as OpenSSH writes it")]


class AgentEnrol(Input):
    """What a host says of itself when it enrols."""

    token: Annotated[
        str, Field(min_length=16, max_length=200, description="Of the enrolment; works once")
    ]
    agent_version: Annotated[AgentVersion, Field(description="Of the agent that speaks")]
    identity_key: IdentityKey
    sealing_key: SealingKey
    host_keys: Annotated[
        list[HostKey], Field(min_length=1, max_length=8, description="SSH host keys of its sshd")
    ]
    facts: Facts


class AgentEnrolled(Model):
    """Who the host is from now on, and whose directions it follows."""

    node_id: str
    node_name: str
    identity_id: str
    signers: list[SignerKey]


class AgentChallenge(Model):
    """Something to sign, soon."""

    challenge: str
    expires_in: int


class AgentTokenCreate(Input):
    """A challenge, signed with the agent's identity."""

    node_id: Annotated[Id, Field(description="Who asks")]
    challenge: Annotated[
        str,
        Field(
            min_length=16, max_length=300, description="As the platform gave it, some seconds ago"
        ),
    ]
    signature: Signature


class AgentToken(Model):
    """A token for some minutes."""

    access_token: str
    expires_in: int
    identity_id: str
    identity_rotates_at: Annotated[datetime, Field(description="When the next key is due")]


class AgentIdentityRotate(Input):
    """The next identity; the one before ends when this one is first used."""

    identity_key: IdentityKey
    sealing_key: SealingKey


class AgentPoll(Input):
    """A sign of life, and a question for directions."""

    agent_version: Annotated[AgentVersion, Field(description="Of the agent that speaks")]
    boot_id: Annotated[str, Field(max_length=64, description="Changes when the machine boots")] = ""
    held: Annotated[
        list[Id],
        Field(max_length=4 * MAX_HELD_TASKS, description="Tasks it has and has not finished"),
    ] = []
    stopping: Annotated[
        list[Id],
        Field(max_length=4 * MAX_HELD_TASKS, description="Those of them it is stopping"),
    ] = []
    access_revision: Annotated[
        str, Field(max_length=64, description="Of the access it was last told of")
    ] = ""
    access_error: Annotated[
        Text, Field(description="Why that could not be applied; empty when it was")
    ] = ""
    signers_revision: Annotated[
        str, Field(max_length=64, description="Of the signers it was last told of")
    ] = ""


class AgentDirections(Model):
    """What an agent is to do. Texts inside are `TaskDirection`, `AccessDirection` and so on."""

    now: datetime
    tasks: list[Signed]
    cancel: Annotated[list[str], Field(description="Tasks to be stopped")]
    access: Signed | None = None
    signers: Signed | None = None
    leave: Signed | None = None
    update: Signed | None = None


class TaskDirection(Model):
    """Signed text: a task."""

    type: Literal["task"] = "task"
    node_id: str
    task_id: str
    allocation_id: str
    kind: TaskKind
    spec: Json
    begin_before: datetime
    correlation_id: CorrelationId


class AccessDirection(Model):
    """Signed text: whom this machine's sshd lets in."""

    type: Literal["access"] = "access"
    node_id: str
    revision: str
    issued_at: datetime
    ca_keys: list[str]
    principals: dict[str, list[str]]
    krl: Annotated[str, Field(description="OpenSSH's revocation list, base64")]


class SignersDirection(Model):
    """Signed text: whose directions to follow from now on."""

    type: Literal["signers"] = "signers"
    node_id: str
    revision: str
    signers: list[SignerKey]


class LeaveDirection(Model):
    """Signed text: clean the host and go."""

    type: Literal["leave"] = "leave"
    node_id: str
    reason: str


class UpdateDirection(Model):
    """Signed text: a newer agent than the one that asks, by its digest."""

    type: Literal["update"] = "update"
    node_id: str
    version: str
    digest: Annotated[str, Field(description="SHA-256 of what the platform serves")]


class AgentFacts(Input):
    """Facts of the machine."""

    facts: Facts


class AgentTaskOutput(Input):
    """A piece of output; sent again it changes nothing."""

    offset: Annotated[
        int, Field(ge=0, le=OUTPUT_MAX_BYTES, description="Where this piece begins in the whole")
    ]
    data: Annotated[
        str, Field(max_length=OUTPUT_CHUNK_BYTES * 4 // 3 + 4, description="The bytes, base64")
    ]


class AgentTaskEnd(Input):
    """How a task ended; sent again it changes nothing."""

    status: Annotated[
        Literal[NodeTaskStatus.SUCCEEDED, NodeTaskStatus.FAILED, NodeTaskStatus.CANCELLED],
        Field(description="How it ended"),
    ]
    code: Annotated[
        str, Field(pattern=r"^[a-z_]{1,40}$", description="`ok`, or what went wrong, in a word")
    ]
    message: Annotated[Text, Field(description="What went wrong, in words for people")] = ""
    exit_status: Annotated[
        int | None,
        Field(
            ge=-1, le=255, description="Of the script; 128 and its number where a signal ended it"
        ),
    ] = None
    digest: Annotated[
        str | None,
        Field(pattern=r"^sha256:[0-9a-f]{64}$", description="Of the file that was moved"),
    ] = None
    size: Annotated[
        int | None, Field(ge=0, le=2**50, description="Bytes of the file that was moved")
    ] = None
    seconds: Annotated[float | None, Field(ge=0, le=1e9, description="How long it took")] = None
    output_cut: Annotated[bool, Field(description="It wrote more than is sent")] = False


class AgentSecret(Model):
    """The secret of a task, sealed to the machine that is to have it."""

    task_id: str
    version: int
    sealed: Sealed


class AgentArtifact(Model):
    """Where the artifact of a task is fetched, for a while; the path is the platform's."""

    task_id: str
    path: str
    digest: str
    size: int


class AgentLeaving(Input):
    """The host's own administrator lets the node go."""

    reason: Annotated[
        str, Field(min_length=1, max_length=2000, description="Why; kept in the audit log")
    ]
    force: Annotated[bool, Field(description="Also while an allocation holds it")] = False


class AgentLeft(Input):
    """The host is clean, or what could not be cleaned."""

    residue: Annotated[
        list[Annotated[str, Field(max_length=500)]],
        Field(max_length=50, description="What could not be cleaned; empty: the host is clean"),
    ] = []
